"""Fuzz targets: libFuzzer of clang with objects compiled by g++."""

load("//tools:cc.bzl", "cc_library", "cc_test")

def fuzz_test(name, srcs, seeds, traced, traced_deps, deps):
    """A fuzz test that runs for 30 seconds; libFuzzer options may follow the arguments.

    Args:
      name: name of the test.
      srcs: sources that define LLVMFuzzerTestOneInput (https://llvm.org/docs/LibFuzzer.html).
      seeds: input files; a file that ends in ".seeds" contains several inputs separated by lines "%%".
      traced: sources that are compiled again with coverage instrumentation.
      traced_deps: dependencies of traced.
      deps: dependencies of srcs.
    """
    cc_library(
        name = name + "_traced",
        testonly = True,
        srcs = traced,
        copts = ["-fsanitize-coverage=trace-pc,trace-cmp"],
        deps = traced_deps,
        alwayslink = True,
    )
    cc_test(
        name = name,
        size = "medium",
        srcs = srcs,
        args = ["$(rootpath %s)" % seed for seed in seeds],
        data = seeds,
        deps = [
            ":main",
            ":" + name + "_traced",
        ] + deps,
    )
