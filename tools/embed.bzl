"""Embeds files in programs."""

load("@rules_cc//cc:defs.bzl", "cc_library")

def det_embed(name, src, header, function, **kwargs):
    """Defines a library whose `function` returns the content of a file.

    Args:
      name: name of the target.
      src: label of the file.
      header: path of the header that declares `std::string_view <function>();`, relative to the root.
      function: name of the function with its namespaces: "det::proto::ApiDescriptors".
      **kwargs: passed to cc_library: visibility.
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
