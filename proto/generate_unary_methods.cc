// Writes the source of unary_methods.h for the services in a FileDescriptorSet.
//
// Usage: generate_unary_methods DESCRIPTORS > unary_methods.cc
#include <fstream>
#include <iostream>
#include <string>

#include "absl/strings/str_replace.h"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

namespace {

// "det.api.v1.Trial" -> "det::api::v1::Trial"
std::string ToCpp(const std::string& name) { return absl::StrReplaceAll(name, {{".", "::"}}); }

void WriteMethod(const google::protobuf::MethodDescriptor& method) {
  if (method.server_streaming() || method.client_streaming()) return;
  const std::string service = ToCpp(method.service()->full_name());
  std::cout << "      {\"" << method.full_name() << "\",\n"
            << "       [](Service& service, Context& context, const Message& in, Message& out) {\n"
            << "         static_cast<" << service << "::CallbackService&>(service)."
            << method.name() << "(\n             &context, static_cast<const "
            << ToCpp(method.input_type()->full_name()) << "*>(&in),\n             static_cast<"
            << ToCpp(method.output_type()->full_name()) << "*>(&out));\n       }},\n";
}

}  // namespace

int main(int argc, char** argv) {
  google::protobuf::FileDescriptorSet files;
  std::ifstream in(argc == 2 ? argv[1] : "", std::ios::binary);
  if (!files.ParseFromIstream(&in)) {
    std::cerr << "usage: generate_unary_methods DESCRIPTORS\n";
    return 2;
  }
  google::protobuf::DescriptorPool pool;
  std::cout << "#include \"proto/unary_methods.h\"\n\n#include <grpcpp/grpcpp.h>\n\n";
  for (const auto& file : files.file()) {
    pool.BuildFile(file);
    if (file.service_size() == 0) continue;
    std::cout << "#include \"" << absl::StrReplaceAll(file.name(), {{".proto", ".grpc.pb.h"}})
              << "\"\n";
  }
  std::cout << R"(
namespace det::proto {
namespace {

using Context = grpc::CallbackServerContext;
using google::protobuf::Message;
using grpc::Service;

}  // namespace

const std::unordered_map<std::string_view, UnaryMethod>& GetUnaryMethods() {
  static const auto& methods = *new std::unordered_map<std::string_view, UnaryMethod>{
)";
  for (const auto& file : files.file()) {
    const auto* descriptor = pool.FindFileByName(file.name());
    for (int i = 0; i < descriptor->service_count(); ++i) {
      const auto* service = descriptor->service(i);
      for (int k = 0; k < service->method_count(); ++k) WriteMethod(*service->method(k));
    }
  }
  std::cout << "  };\n  return methods;\n}\n\n}  // namespace det::proto\n";
  return 0;
}
