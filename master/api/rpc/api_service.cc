#include "master/api/rpc/api_service.h"

#include "base/check.h"
#include <google/protobuf/descriptor.h>

namespace det::api {

ServiceMethods::ServiceMethods(const std::string& service) {
  const auto* descriptor =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(service);
  DET_CHECK(descriptor != nullptr) << service;
  for (int i = 0; i < descriptor->method_count(); ++i) {
    const auto& method = *descriptor->method(i);
    DET_CHECK(auth::HasAccessOption(method)) << method.full_name() << " has no option det.access";
    requirements_.emplace(method.name(), auth::GetRequirement(method.full_name()));
  }
}

const auth::Requirement& ServiceMethods::Get(std::string_view name) const {
  const auto it = requirements_.find(name);
  DET_CHECK(it != requirements_.end()) << "the service has no method " << std::string(name);
  return it->second;
}

}  // namespace det::api
