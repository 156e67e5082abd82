"""The installed form of the Trial API, as a tree of files."""

def _copy(root, target, path):
    return "mkdir -p $$(dirname {0}/{1}) && cp $(location {2}) {0}/{1}".format(root, path, target)

def trial_sdk(
        name,
        headers,
        umbrella,
        library,
        binary,
        trial_main,
        compile_flags,
        link_flags):
    """Makes bin/, include/, lib/ and share/ below bazel-bin/<package>/<name>/.

    Args:
      name: of the target that makes all of it, and of the folder.
      headers: label of a filegroup -> paths of its files from the root of the workspace.
      umbrella: the one of those paths that users include as "det/trial.h"; precompiled too.
      library: the shared library.
      binary: the launcher.
      trial_main: the main() of a user's program.
      compile_flags: file with the compiler's flags; the precompiled header is made with them.
      link_flags: file with the linker's flags.
    """
    root = "$(RULEDIR)/" + name
    paths = []
    for group in headers.values():
        paths += group
    includes = [name + "/include/" + path for path in paths] + [name + "/include/det/trial.h"]
    copies = ["mkdir -p %s/include" % root]
    for path in paths:
        copies.append("mkdir -p {0}/include/$$(dirname {1}) && cp {1} {0}/include/{1}".format(
            root,
            path,
        ))
    copies.append("mkdir -p {0}/include/det && cp {1} {0}/include/det/trial.h".format(
        root,
        umbrella,
    ))
    native.genrule(
        name = name + "_include",
        srcs = headers.keys(),
        outs = includes,
        cmd = " && ".join(copies),
    )

    # The compiler uses <header>.gch in the directory of <header>.
    native.genrule(
        name = name + "_precompiled",
        srcs = includes + [compile_flags],
        outs = [name + "/include/det/trial.h.gch"],
        cmd = "g++ $$(cat $(location {1})) -I{0}/include -x c++-header {0}/include/det/trial.h -o $@"
            .format(root, compile_flags),
        message = "Precompiling the header of the Trial API",
    )

    # Programs that were compiled with other headers or flags belong to another version.
    share = {
        "trial_main.cc": trial_main,
        "compile_flags": compile_flags,
        "link_flags": link_flags,
    }
    native.genrule(
        name = name + "_share",
        srcs = includes + share.values(),
        outs = [name + "/share/" + path for path in share] + [name + "/share/version"],
        cmd = " && ".join([
            _copy(root, target, "share/" + path)
            for path, target in share.items()
        ] + ["cat $(SRCS) | sha256sum | cut -c 1-64 > %s/share/version" % root]),
    )
    native.genrule(
        name = name + "_lib",
        srcs = [library],
        outs = [name + "/lib/libdet_trial.so"],
        cmd = "cp $< $@",
    )
    native.genrule(
        name = name + "_bin",
        srcs = [binary],
        outs = [name + "/bin/resolute-launch"],
        cmd = "cp $< $@",
        executable = True,
    )
    native.filegroup(
        name = name,
        srcs = [":" + name + part for part in [
            "_bin",
            "_include",
            "_lib",
            "_precompiled",
            "_share",
        ]],
    )
