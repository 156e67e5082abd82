// Policies that a workspace or the cluster enforces on configurations (api/policies/config_policy.h
// explains their meaning). Plain records, one transaction each. Reached through
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

  // Returns the policies of a workspace (0: the cluster) for "EXPERIMENT" or "NTSC"; null if it has
  // no policies.
  virtual absl::StatusOr<model::Value> GetPolicies(int32_t workspace,
                                                   const std::string& workload) = 0;
  // Replaces the policies. They are deleted with their workspace. NOT_FOUND if the workspace does
  // not exist; FAILED_PRECONDITION if it is archived.
  virtual absl::Status PutPolicies(int32_t workspace, const std::string& workload,
                                   const model::Value& policies) = 0;
  // Returns OK if there are none.
  virtual absl::Status DeletePolicies(int32_t workspace, const std::string& workload) = 0;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_CONFIG_POLICIES_H_
