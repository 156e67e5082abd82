"""Generates C++ from .proto files with the protoc and grpc_cpp_plugin of the system."""

load("//tools:cc.bzl", "GENERATED", "cc_library")

# Import paths are relative to this folder, which contains the BUILD file that calls the macro.
_ROOT = "proto"

def _outs(srcs, suffix):
    return [s[:-len(".proto")] + suffix for s in srcs]

def _protoc(name, srcs, protos, outs, args):
    native.genrule(
        name = name,
        srcs = [protos],
        outs = outs,
        cmd = "protoc -I%s -I/usr/include %s %s" % (
            _ROOT,
            args,
            " ".join(["%s/%s" % (_ROOT, s) for s in srcs]),
        ),
        message = "Running protoc for //%s:%s" % (native.package_name(), name),
    )

def det_proto_library(name, srcs, deps = [], grpc = False):
    """Generates C++ messages, and with grpc = True gRPC stubs, from .proto files.

    Defines `<name>` (messages), `<name>_grpc` (stubs and `*.unary.h`, with grpc = True), `<name>_protos` (the .proto files
    with those of deps) and `<name>_descriptors` (file `<name>.pb`: a FileDescriptorSet with imports and
    comments). Include the headers as "det/api/v1/experiment.pb.h" and "det/api/v1/experiment.grpc.pb.h".

    Args:
      name: name of the library with the messages.
      srcs: .proto files, as paths below proto/.
      deps: other det_proto_library targets of the same package, e.g. ":google_api".
      grpc: whether to define `<name>_grpc`.
    """
    if native.package_name() != _ROOT:
        fail("det_proto_library belongs in //%s" % _ROOT)
    protos = name + "_protos"
    native.filegroup(
        name = protos,
        srcs = srcs + [d + "_protos" for d in deps],
    )
    headers = _outs(srcs, ".pb.h")
    sources = _outs(srcs, ".pb.cc")
    out = "--%s_out=$(RULEDIR)"
    _protoc(name + "_cpp", srcs, protos, headers + sources, out % "cpp")
    cc_library(
        name = name,
        srcs = sources,
        hdrs = headers,
        bundled = True,
        statics = ["schemas", "file_default_instances"],
        copts = GENERATED,
        precompiled = "grpc_generated",
        includes = ["."],
        deps = deps + ["//third_party:protobuf"],
    )
    _protoc(
        name + "_descriptors",
        srcs,
        protos,
        [name + ".pb"],
        "--include_imports --include_source_info --descriptor_set_out=$@",
    )
    if not grpc:
        return
    grpc_headers = _outs(srcs, ".grpc.pb.h")
    grpc_sources = _outs(srcs, ".grpc.pb.cc")
    _protoc(
        name + "_grpc_cpp",
        srcs,
        protos,
        grpc_headers + grpc_sources,
        "--plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin " + out % "grpc",
    )
    unary_headers = _outs(srcs, ".unary.h")
    native.genrule(
        name = name + "_unary",
        srcs = [":" + name + "_descriptors"],
        outs = unary_headers,
        cmd = "$(location //proto:generate_unary_methods) $< $(RULEDIR) " + " ".join(srcs),
        tools = ["//proto:generate_unary_methods"],
    )
    cc_library(
        name = name + "_grpc",
        srcs = grpc_sources,
        hdrs = grpc_headers + unary_headers,
        bundled = True,
        copts = GENERATED,
        precompiled = "grpc_generated",
        includes = ["."],
        deps = [":" + name, ":unary_methods", "//third_party:grpc"],
    )
