"""A library of the system, under a name of our own."""

load("@rules_cc//cc:defs.bzl", "cc_library")

def system_library(name, libs = [], defines = [], deps = [], shared = False):
    """Links lib<x> for every x in libs; its headers are found in the system's include folders.

    Only libraries that are really used stay in the binary, so a long list costs nothing.

    Args:
      name: of the target.
      libs: names for -l, dependants before their dependencies.
      defines: macros for everything that includes it.
      deps: other targets of this package that its headers include.
      shared: also in a program that takes the others into itself (:self_contained).
    """
    cc_library(
        name = name,
        defines = defines,
        linkopts = ["-Wl,--push-state,--as-needed" + (",-Bdynamic " if shared else " ") +
                    " ".join(["-l" + x for x in libs]) + " -Wl,--pop-state"] if libs else [],
        deps = deps,
        visibility = ["//visibility:public"],
    )
