// Policies for configurations (docs/config_policies.md): read from a text, looked up for a place,
// laid over what a user gives. The cluster's wins over the workspace's, member by member.
//
// What takes a store blocks; the rest is pure, on any thread.
#ifndef MASTER_API_POLICIES_CONFIG_POLICY_H_
#define MASTER_API_POLICIES_CONFIG_POLICY_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/core/cluster/request.h"
#include "master/core/model/experiment_config.h"
#include "master/core/model/value.h"
#include "master/parse/parse.h"
#include "master/store/interfaces/store.h"

namespace det::api {

inline constexpr char kExperimentWorkload[] = "EXPERIMENT";
inline constexpr char kTaskWorkload[] = "NTSC";  // commands, notebooks: kept, nothing runs them

// What a text (YAML or JSON) says. INVALID_ARGUMENT with the line of what is wrong: a member that
// is none, a part of a configuration that is not legal or that says where an experiment lies.
absl::StatusOr<model::Value> ParsePolicies(std::string_view text, const std::string& workload);

struct Limit {
  int value = 0;
  std::string whose;  // "the policy of workspace vision"
};
// What holds for the experiments of one place.
struct ConfigPolicy {
  std::vector<model::ConfigLayer> layers;  // the lowest first
  std::optional<Limit> max_slots;
  std::optional<Limit> priority;  // no smaller number, which goes first
};

// Of what the two say, null for nothing.
ConfigPolicy CombinePolicies(const model::Value& workspace, const std::string& workspace_name,
                             const model::Value& cluster);

// Of the cluster alone for workspace 0.
absl::StatusOr<ConfigPolicy> FindConfigPolicy(store::Store& store, int32_t workspace,
                                              const std::string& workspace_name);

// Holds a configuration that the layers are laid over already against the limits; one that asks for
// no max_slots gets the limit's. PERMISSION_DENIED names what is too much and whose policy says so.
absl::Status ApplyLimits(const ConfigPolicy& policy, model::ExperimentConfig& config);

// The same for changes of queued jobs, by where each experiment lies.
absl::Status CheckQueueUpdate(store::Store& store, const cluster::UpdateQueue& update);

}  // namespace det::api

#endif  // MASTER_API_POLICIES_CONFIG_POLICY_H_
