// Prints the OpenAPI document that a master serves at /api/v1/openapi.json, for use at build time,
// such as in webui/.
#include <iostream>
#include <string>

#include "absl/status/statusor.h"
#include "base/installation.h"
#include "master/gateway/openapi.h"
#include "proto/api_descriptors.h"
#include <google/protobuf/descriptor.pb.h>

int main() {
  det::gateway::ApiSource source{.descriptors = det::proto::ApiDescriptors(),
                                 .version = det::base::kVersion};
  google::protobuf::FileDescriptorSet files;
  files.ParseFromArray(source.descriptors.data(), static_cast<int>(source.descriptors.size()));
  for (const auto& file : files.file()) {
    for (const auto& service : file.service()) {
      source.services.push_back(file.package() + "." + service.name());
    }
  }
  const absl::StatusOr<std::string> json = det::gateway::MakeOpenApi(source);
  if (!json.ok()) {
    std::cerr << "openapi_json: " << json.status().message() << "\n";
    return 1;
  }
  std::cout << *json << "\n";
  return 0;
}
