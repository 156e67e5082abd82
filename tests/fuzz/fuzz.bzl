"""Fuzz targets: a function of bytes, driven by clang's libFuzzer over objects by g++."""

load("//tools:cc.bzl", "cc_library", "cc_test")

def fuzz_test(name, srcs, seeds, traced, traced_deps, deps):
    """A test that runs for 30 seconds; with arguments, libFuzzer's own program.

    Args:
      name: of the test.
      srcs: define LLVMFuzzerTestOneInput (https://llvm.org/docs/LibFuzzer.html).
      seeds: files, each an input; of one that ends in ".seeds" each part between lines of "%%" is.
      traced: sources that are compiled anew, so that what they reach counts.
      traced_deps: what those need.
      deps: of srcs.
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
