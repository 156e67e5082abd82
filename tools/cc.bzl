"""cc_library, cc_binary and cc_test of this project: those of rules_cc, with faster compilation.

Most of a source's compile time is spent on headers of others: the standard library, gtest, gRPC, libtorch.
They are read precompiled, by `-include` (tools/precompiled). `precompiled` says which: by default it follows
from the deps; "torch"; the name of a header; False if flags of the target's own forbid it (optimization,
debug information). Libraries are archives only: nobody needs each as a shared library, too.

`bundled = True` compiles the sources of a target eight at a time, one after the other in one unit, in about
half of the time; tools/README.md says where. Their file-local names must then differ, and a file-local
overload hides those of the namespace around it. `statics` names those of generated code that do not differ.
"""

load("@rules_cc//cc:defs.bzl", _cc_binary = "cc_binary", _cc_library = "cc_library", _cc_test = "cc_test")

# Optimizing a test, or what only tests link, takes a third of its compile time and gains nothing, except for
# tests that search.
UNOPTIMIZED = ["-O0", "-U_FORTIFY_SOURCE"]

# Generated code is not linted, and its optimization is not worth the time.
GENERATED = ["-w", "-O1", "-g0"]

_OPTIMIZED_TESTS = [
    "master/core/scheduler",
    "master/core/searcher",
    "master/simulate",
    "tests/sim",
    "tests/bench",
]

def _optimized(package):
    for folder in _OPTIMIZED_TESTS:
        if package == folder or package.startswith(folder + "/"):
            return True
    return False

def _with(header, copts, deps):
    """The attributes of a target that includes tools/precompiled/<header>.h first."""
    return dict(
        copts = copts + ["-Winvalid-pch", "-include", "$(BINDIR)/tools/precompiled/%s.h" % header],
        deps = deps + ["//tools/precompiled:" + header],
    )

def _compiled(precompiled, test, copts, deps):
    """The attributes for compiling a target: what it includes first, and how it is optimized."""
    unoptimized = test and not _optimized(native.package_name())
    if unoptimized:
        copts = UNOPTIMIZED + copts
    if not precompiled:
        return dict(copts = copts, deps = deps)
    if precompiled == True:
        grpc = [d for d in deps if d == "//third_party:grpc" or (d.startswith("//proto:") and d.endswith("_grpc"))]
        precompiled = "grpc" if grpc else ""
    if precompiled in ["", "grpc", "torch"]:
        precompiled += ("_" if precompiled else "") + ("test" if unoptimized else "std")
    return _with(precompiled, copts, deps)

# The number of sources per unit. Larger units leave cores idle at the end of a build; smaller ones parse the
# headers more often.
_IN_A_BUNDLE = 8

def _bundles(name, srcs, statics = []):
    """Returns units that concatenate the sources of a target; `statics` are renamed in each source."""
    define = "".join(["echo \"#define %s %s_$$((++n))\"; " % (each, each) for each in statics])
    undefine = "".join(["echo \"#undef %s\"; " % each for each in statics])
    sources = [s for s in srcs if s.endswith(".cc")]
    count = (len(sources) + _IN_A_BUNDLE - 1) // _IN_A_BUNDLE
    units = []
    for i in range(count):
        unit = "%s_bundle_%d" % (name, i)
        native.genrule(
            name = unit,
            srcs = sources[i * len(sources) // count:(i + 1) * len(sources) // count],
            outs = [unit + ".cc"],
            cmd = "n=0; for source in $(SRCS); do %s echo \"#line 1 \\\"$$source\\\"\"; cat $$source; %s done > $@" % (define, undefine),
        )
        units.append(unit + ".cc")
    return [s for s in srcs if not s.endswith(".cc")] + units

def cc_library(name, srcs = [], copts = [], deps = [], precompiled = True, linkstatic = True, bundled = False, statics = [], testonly = False, **kwargs):
    kwargs.update(_compiled(precompiled if srcs else False, testonly, copts, deps))
    _cc_library(
        name = name,
        srcs = _bundles(name, srcs, statics) if bundled else srcs,
        linkstatic = linkstatic,
        testonly = testonly,
        **kwargs
    )

def cc_binary(name, copts = [], deps = [], precompiled = True, testonly = False, **kwargs):
    kwargs.update(_compiled(precompiled, testonly, copts, deps))
    _cc_binary(name = name, testonly = testonly, **kwargs)

def cc_test(name, srcs, copts = [], deps = [], precompiled = True, bundled = False, **kwargs):
    kwargs.update(_compiled(precompiled, True, copts, deps))
    _cc_test(
        name = name,
        srcs = _bundles(name, srcs) if bundled else srcs,
        **kwargs
    )
