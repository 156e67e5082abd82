"""A precompiled header: parsed once, read by every source that is compiled with `-include`."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "ACTION_NAMES")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )

    # g++ uses <header>.gch instead of <header> if it was compiled with the same flags as the source.
    header = ctx.actions.declare_file(ctx.file.header.basename)
    ctx.actions.symlink(output = header, target_file = ctx.file.header)
    gch = ctx.actions.declare_file(ctx.file.header.basename + ".gch")
    fragment = ctx.fragments.cpp
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = ctx.file.header.path,
        output_file = gch.path,
        user_compile_flags = ["-x", "c++-header"] + fragment.copts + fragment.cxxopts + ctx.attr.copts,
        quote_include_directories = depset(["."]),
        use_pic = True,
    )
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = ACTION_NAMES.cpp_compile,
        ),
        arguments = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = ACTION_NAMES.cpp_compile,
            variables = variables,
        ),
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = ACTION_NAMES.cpp_compile,
            variables = variables,
        ),
        inputs = depset(
            [ctx.file.header] + ctx.files.includes,
            transitive = [toolchain.all_files],
        ),
        outputs = [gch],
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling " + ctx.file.header.short_path,
    )
    return [
        DefaultInfo(files = depset([header, gch])),
        CcInfo(compilation_context = cc_common.create_compilation_context(
            headers = depset([header, gch] + ctx.files.includes),
        )),
    ]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "header": attr.label(allow_single_file = [".h"], mandatory = True),
        "includes": attr.label_list(
            allow_files = [".h"],
            doc = "what the header includes of this repository",
        ),
        "copts": attr.string_list(
            doc = "flags that its sources have besides those of the configuration",
        ),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
