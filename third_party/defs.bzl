"""Targets for libraries of the system."""

load("@rules_cc//cc:defs.bzl", "cc_library")

def system_library(name, libs = [], defines = [], deps = [], shared = False):
    """Links lib<x> for each x in libs. The headers are in the include directories of the system.

    Only libraries that are used are linked, so a long list has no cost.

    Args:
      name: name of the target.
      libs: names for -l, dependents before their dependencies.
      defines: macros for all targets that depend on it.
      deps: other targets of this package whose headers its headers include.
      shared: link dynamically even in a program that links other libraries statically (:self_contained).
    """
    cc_library(
        name = name,
        defines = defines,
        linkopts = ["-Wl,--push-state,--as-needed" + (",-Bdynamic " if shared else " ") +
                    " ".join(["-l" + x for x in libs]) + " -Wl,--pop-state"] if libs else [],
        deps = deps,
        visibility = ["//visibility:public"],
    )
