"""cc_library, cc_binary and cc_test of this project: rules_cc's, compiled faster.

Most of a source's compile time is the standard library's headers. They are read precompiled, by
`-include`; a target whose own flags forbid that (optimisation, debug information) says
`precompiled = False`. --config=plain builds without, which shows sources that lean on it.
"""

load("@rules_cc//cc:defs.bzl", _cc_binary = "cc_binary", _cc_library = "cc_library", _cc_test = "cc_test")

# Optimising a test takes a third of its compile time and gains nothing, but for those that search.
UNOPTIMISED = ["-O0", "-U_FORTIFY_SOURCE"]
_OPTIMISED_TESTS = [
    "master/scheduler",
    "master/searcher",
    "master/simulate",
    "tests/sim",
]

def _optimised(package):
    for folder in _OPTIMISED_TESTS:
        if package == folder or package.startswith(folder + "/"):
            return True
    return False

def _with(header, copts, deps):
    """The two attributes of a target that includes tools/precompiled/<header>.h first."""
    plain = "//tools:plain"
    return dict(
        copts = copts + select({
            plain: [],
            "//conditions:default": ["-Winvalid-pch", "-include", "$(BINDIR)/tools/precompiled/%s.h" % header],
        }),
        deps = deps + select({
            plain: [],
            "//conditions:default": ["//tools/precompiled:" + header],
        }),
    )

def cc_library(name, srcs = [], copts = [], deps = [], precompiled = True, **kwargs):
    if precompiled and srcs:
        kwargs.update(_with("std", copts, deps))
    else:
        kwargs.update(copts = copts, deps = deps)
    _cc_library(name = name, srcs = srcs, **kwargs)

def cc_binary(name, copts = [], deps = [], precompiled = True, **kwargs):
    if precompiled:
        kwargs.update(_with("std", copts, deps))
    else:
        kwargs.update(copts = copts, deps = deps)
    _cc_binary(name = name, **kwargs)

def cc_test(name, copts = [], deps = [], **kwargs):
    if _optimised(native.package_name()):
        kwargs.update(_with("std", copts, deps))
    else:
        kwargs.update(_with("test", copts + UNOPTIMISED, deps))
    _cc_test(name = name, **kwargs)
