// Writes a header for each .proto file that specializes UnaryMethods (unary_methods.h) for each of
// its services.
//
// Usage: generate_unary_methods DESCRIPTORS FOLDER FILE...
//   DESCRIPTORS  a FileDescriptorSet
//   FILE         a .proto file, as a path below FOLDER; its header gets the suffix .unary.h
#include <fstream>
#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

namespace {

// "det.api.v1.Trial" -> "::det::api::v1::Trial"
std::string ToCpp(const std::string& name) {
  return absl::StrCat("::", absl::StrReplaceAll(name, {{".", "::"}}));
}

std::string ToUnaryMethod(const google::protobuf::MethodDescriptor& method) {
  return absl::StrCat("      {\"", method.name(), "\",\n",
                      "       [](grpc::Service& service, grpc::CallbackServerContext& context,\n"
                      "          const google::protobuf::Message& request, "
                      "google::protobuf::Message& response) {\n",
                      "         static_cast<", ToCpp(method.service()->full_name()),
                      "::CallbackService&>(service).", method.name(),
                      "(\n             &context, static_cast<const ",
                      ToCpp(method.input_type()->full_name()),
                      "*>(&request),\n             static_cast<",
                      ToCpp(method.output_type()->full_name()), "*>(&response));\n       }},\n");
}

std::string ToHeader(const google::protobuf::FileDescriptor& file) {
  std::string text = absl::StrCat("#pragma once\n\n#include \"",
                                  absl::StrReplaceAll(file.name(), {{".proto", ".grpc.pb.h"}}),
                                  "\"\n#include \"proto/unary_methods.h\"\n");
  for (int i = 0; i < file.service_count(); ++i) {
    const google::protobuf::ServiceDescriptor& service = *file.service(i);
    absl::StrAppend(
        &text, "\ntemplate <>\ninline std::map<std::string_view, det::proto::UnaryMethod>\n",
        "det::proto::UnaryMethods<", ToCpp(service.full_name()), ">::Get() {\n  return {\n");
    for (int k = 0; k < service.method_count(); ++k) {
      const google::protobuf::MethodDescriptor& method = *service.method(k);
      if (method.client_streaming() || method.server_streaming()) continue;
      absl::StrAppend(&text, ToUnaryMethod(method));
    }
    absl::StrAppend(&text, "  };\n}\n");
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  google::protobuf::FileDescriptorSet files;
  std::ifstream in(argc > 2 ? argv[1] : "", std::ios::binary);
  if (!files.ParseFromIstream(&in)) {
    std::cerr << "usage: generate_unary_methods DESCRIPTORS FOLDER FILE...\n";
    return 2;
  }
  google::protobuf::DescriptorPool pool;
  for (const auto& file : files.file()) pool.BuildFile(file);
  for (int i = 3; i < argc; ++i) {
    std::ofstream out(
        absl::StrCat(argv[2], "/", absl::StrReplaceAll(argv[i], {{".proto", ".unary.h"}})));
    out << ToHeader(*pool.FindFileByName(argv[i]));
    if (!out.flush()) {
      std::cerr << "cannot write the header of " << argv[i] << "\n";
      return 1;
    }
  }
  return 0;
}
