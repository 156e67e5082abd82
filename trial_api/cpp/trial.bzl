"""A Trial as an ordinary program, for the debugger."""

load("//tools:cc.bzl", "cc_binary", "cc_library")

def trial_cc_binary(name, src, trial_class, deps = [], **kwargs):
    """Builds a source with a Trial, and a main() that runs it off the cluster.

    Args:
      name: of the program.
      src: a source of this package, as in `entrypoint: src:trial_class`.
      trial_class: the Trial's class.
      deps: what the source needs besides the Trial API.
      **kwargs: as of cc_binary.
    """
    native.genrule(
        name = name + "_main",
        srcs = ["//trial_api/cpp/launch:trial_main.cc"],
        outs = [name + "_main.cc"],
        cmd = "sed -e 's|^#include DET_TRIAL_SOURCE|#include \"%s/%s\"|' -e 's|<DET_TRIAL_CLASS>|<%s>|' $< > $@" %
              (native.package_name(), src, trial_class),
    )
    cc_library(
        name = name + "_source",
        textual_hdrs = [src],
    )
    cc_binary(
        name = name,
        srcs = [name + "_main.cc"],
        deps = deps + [name + "_source", "//trial_api/cpp/torch:trial"],
        **kwargs
    )
