// Policies for configurations: what those who create experiments may not decide for themselves
// (service/config_policy.h says what they mean). Plain records, one transaction each. Reached by
// Store::config_policies(). Any thread; blocks.
#ifndef MASTER_STORE_INTERFACES_CONFIG_POLICIES_H_
#define MASTER_STORE_INTERFACES_CONFIG_POLICIES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/core/model/value.h"

namespace det::store {

class ConfigPolicies {
 public:
  virtual ~ConfigPolicies() = default;

  // Of a workspace (0: of the cluster) for "EXPERIMENT" or "NTSC"; null for none.
  virtual absl::StatusOr<model::Value> GetPolicies(int32_t workspace,
                                                   const std::string& workload) = 0;
  // In the place of what was there. NOT_FOUND for the workspace, with which they go;
  // FAILED_PRECONDITION for an archived one.
  virtual absl::Status PutPolicies(int32_t workspace, const std::string& workload,
                                   const model::Value& policies) = 0;
  // OK when there are none.
  virtual absl::Status DeletePolicies(int32_t workspace, const std::string& workload) = 0;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_CONFIG_POLICIES_H_
