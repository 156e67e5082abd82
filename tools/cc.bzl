"""cc_library, cc_binary and cc_test of this project: rules_cc's, compiled faster.

Most of a source's compile time is the headers of others: the standard library's, gtest's, gRPC's. They
are read precompiled, by `-include`; a target whose own flags forbid that (optimisation, debug
information) says `precompiled = False`, or names another header. --config=plain builds without, which shows sources that lean
on it. Libraries are archives only: nobody needs each as a shared library, too.

Where many sources lie in one target, the headers of this project are what is left, and the templates
that each source instantiates anew: `bundled = True` compiles the sources eight at a time, one after
the other in one unit, in a third of the time. Their file-local names must then differ, and a
file-local overload hides those of the namespace around it; of generated code `statics` names those that
do not differ. --config=plain compiles each by itself.
"""

load("@rules_cc//cc:defs.bzl", _cc_binary = "cc_binary", _cc_library = "cc_library", _cc_test = "cc_test")

# Optimising a test takes a third of its compile time and gains nothing, but for those that search.
UNOPTIMISED = ["-O0", "-U_FORTIFY_SOURCE"]

# Generated code is not ours to lint, and not worth the optimiser's time.
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

def _header(deps, test = False):
    """The precompiled header of a target: gRPC's for one that names gRPC or stubs among its deps."""
    grpc = [d for d in deps if d == "//third_party:grpc" or (d.startswith("//proto:") and d.endswith("_grpc"))]
    return ("grpc_" if grpc else "") + ("test" if test else "std")

# More would leave a core idle at the end, fewer would read the headers more often.
_IN_A_BUNDLE = 8

def _bundles(name, srcs, statics = []):
    """The sources of a target as a few units, each some sources one after the other, of which each has
    `statics` of its own."""
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
