// Words of the snapshot format that reading and writing share. Private to scheduler/json. PURE.
#ifndef MASTER_CORE_SCHEDULER_JSON_FORMAT_H_
#define MASTER_CORE_SCHEDULER_JSON_FORMAT_H_

#include <optional>
#include <string_view>

#include "master/core/model/agent.h"
#include "master/core/model/resource_pool.h"

namespace det::scheduler {

inline constexpr char kDefaultPool[] = "default";

inline std::string_view NameOf(model::DeviceType type) {
  switch (type) {
    case model::DeviceType::kCpu:
      return "cpu";
    case model::DeviceType::kCuda:
      return "cuda";
    case model::DeviceType::kRocm:
      return "rocm";
    case model::DeviceType::kTpu:
      return "tpu";
  }
  return "";
}

inline std::optional<model::DeviceType> ParseDeviceType(std::string_view text) {
  for (const auto type : {model::DeviceType::kCpu, model::DeviceType::kCuda,
                          model::DeviceType::kRocm, model::DeviceType::kTpu}) {
    if (text == NameOf(type)) return type;
  }
  return std::nullopt;
}

inline std::string_view NameOf(model::Quota::Scope scope) {
  return scope == model::Quota::Scope::kUser ? "user" : "workspace";
}

inline std::optional<model::Quota::Scope> ParseScope(std::string_view text) {
  for (const auto scope : {model::Quota::Scope::kUser, model::Quota::Scope::kWorkspace}) {
    if (text == NameOf(scope)) return scope;
  }
  return std::nullopt;
}

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_JSON_FORMAT_H_
