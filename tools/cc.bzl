"""cc_library, cc_binary and cc_test of this project: those of rules_cc, with faster compilation.

The compiler spends most of its time in headers of the standard library, gtest and gRPC. Targets therefore
use a precompiled header with `-include`. A target whose flags do not permit that (optimisation, debug
information) sets `precompiled = False`, or names another header. --config=plain builds without precompiled
headers, and so finds sources that do not include what they use. Libraries are static archives only.

In a target with many sources, the remaining time is spent in the headers of this project and in templates
that each source instantiates again. `bundled = True` concatenates the sources in units of eight, which
takes a third of the time. The file-local names of a target must then be unique, because a file-local
overload would hide those of the enclosing namespace; `statics` lists file-local names of generated code
that are not unique. --config=plain compiles each source separately.
"""

load("@rules_cc//cc:defs.bzl", _cc_binary = "cc_binary", _cc_library = "cc_library", _cc_test = "cc_test")

# Optimisation takes a third of a test's compile time, and only long computations gain from it.
UNOPTIMISED = ["-O0", "-U_FORTIFY_SOURCE"]

# Generated code: no warnings, little optimisation, no debug information.
GENERATED = ["-w", "-O1", "-g0"]

_OPTIMISED_TESTS = [
    "master/core/scheduler",
    "master/core/searcher",
    "master/simulate",
    "tests/sim",
]

def _optimised(package):
    for folder in _OPTIMISED_TESTS:
        if package == folder or package.startswith(folder + "/"):
            return True
    return False

def _with(header, copts, deps):
    """Returns the copts and deps of a target that includes tools/precompiled/<header>.h first."""
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

def _header(deps, test = False):
    """Returns the precompiled header of a target; one with gRPC if its deps contain gRPC or stubs."""
    grpc = [d for d in deps if d == "//third_party:grpc" or (d.startswith("//proto:") and d.endswith("_grpc"))]
    return ("grpc_" if grpc else "") + ("test" if test else "std")

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
    return select({
        "//tools:plain": srcs,
        "//conditions:default": [s for s in srcs if not s.endswith(".cc")] + units,
    })

def cc_library(name, srcs = [], copts = [], deps = [], precompiled = True, linkstatic = True, bundled = False, statics = [], **kwargs):
    if precompiled and srcs:
        kwargs.update(_with(_header(deps) if precompiled == True else precompiled, copts, deps))
    else:
        kwargs.update(copts = copts, deps = deps)
    _cc_library(name = name, srcs = _bundles(name, srcs, statics) if bundled else srcs, linkstatic = linkstatic, **kwargs)

def cc_binary(name, copts = [], deps = [], precompiled = True, **kwargs):
    if precompiled:
        kwargs.update(_with(_header(deps), copts, deps))
    else:
        kwargs.update(copts = copts, deps = deps)
    _cc_binary(name = name, **kwargs)

def cc_test(name, srcs, copts = [], deps = [], bundled = False, **kwargs):
    if _optimised(native.package_name()):
        kwargs.update(_with("std", copts, deps))
    else:
        kwargs.update(_with(_header(deps, test = True), copts + UNOPTIMISED, deps))
    _cc_test(name = name, srcs = _bundles(name, srcs) if bundled else srcs, **kwargs)
