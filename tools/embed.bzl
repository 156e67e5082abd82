"""Files that are part of a program."""

load("@rules_cc//cc:defs.bzl", "cc_library")

def det_embed(name, src, header, function, **kwargs):
    """A library whose `function` gives the bytes of a file.

    Args:
      name: of the target.
      src: the file, any label.
      header: declares `std::string_view <function>();`, as a path from the root of the project.
      function: with its namespaces: "det::proto::ApiDescriptors".
      **kwargs: visibility.
    """
    source = name + ".cc"
    native.genrule(
        name = name + "_source",
        srcs = [src],
        outs = [source],
        cmd = "; ".join([
            "(echo '#include \"%s\"'" % header,
            "echo 'static constexpr unsigned char kBytes[] = {'",
            "od -An -v -tu1 -w64 $< | sed 's/ *\\([0-9][0-9]*\\)/\\1,/g'",
            "echo '};'",
            "echo 'std::string_view %s() {'" % function,
            "echo '  return {reinterpret_cast<const char*>(kBytes), sizeof(kBytes)};'",
            "echo '}') > $@",
        ]),
    )
    cc_library(
        name = name,
        srcs = [source],
        hdrs = [header.split("/")[-1]],
        **kwargs
    )
