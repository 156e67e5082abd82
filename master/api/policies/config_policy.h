// Configuration policies (docs/config_policies.md): parses them, finds those of a workspace, and
// applies them to user configurations. The cluster's policy overrides the workspace's, field by
// field. Functions with a store block; the others are PURE. Any thread.
#ifndef MASTER_API_POLICIES_CONFIG_POLICY_H_
#define MASTER_API_POLICIES_CONFIG_POLICY_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/core/cluster/request.h"
#include "master/core/experiment/experiment.h"
#include "master/core/experiment/retention.h"
#include "master/core/model/experiment_config.h"
#include "master/core/model/value.h"
#include "master/parse/parse.h"
#include "master/store/interfaces/store.h"

namespace det::api {

inline constexpr char kExperimentWorkload[] = "EXPERIMENT";
inline constexpr char kTaskWorkload[] = "NTSC";  // commands, notebooks, shells and TensorBoards

// Parses a policy in YAML or JSON. INVALID_ARGUMENT names the line of an unknown field, an invalid
// part of a configuration, or a workspace or project, which a policy cannot set.
absl::StatusOr<model::Value> ParsePolicies(std::string_view text, const std::string& workload);

struct Limit {
  int value = 0;
  std::string source;  // "the policy of workspace vision"
};
// The combined policy for the experiments of one workspace.
struct ConfigPolicy {
  std::vector<model::ConfigLayer> layers;  // lowest precedence first
  std::optional<Limit> max_slots;
  std::optional<Limit> priority;  // the smallest number allowed; smaller numbers run first
};

// Combines the two policies; a null value is an empty policy.
ConfigPolicy CombinePolicies(const model::Value& workspace, const std::string& workspace_name,
                             const model::Value& cluster);

// Workspace 0 has the policy of the cluster alone.
absl::StatusOr<ConfigPolicy> FindConfigPolicy(store::Store& store, int32_t workspace,
                                              const std::string& workspace_name,
                                              const std::string& workload = kExperimentWorkload);

// Checks a configuration, to which the layers have been applied, against the limits. If it does not
// set max_slots, sets the limit. PERMISSION_DENIED names the value and the policy that it exceeds.
absl::Status ApplyLimits(const ConfigPolicy& policy, model::ExperimentConfig& config);

// Checks the resources of a task that is not a trial against the limits.
absl::Status CheckTaskLimits(const ConfigPolicy& policy, const model::ResourcesConfig& resources);

// Checks changes of queued jobs against the policy of the workspace of each job.
absl::Status CheckQueueUpdate(store::Store& store, const cluster::UpdateQueue& update);

// Checks a change of what an experiment keeps of its checkpoints against the policy of its
// workspace.
absl::Status CheckRetentionUpdate(store::Store& store, const experiment::Experiment& e,
                                  const experiment::RetentionPolicy& changed);

}  // namespace det::api

#endif  // MASTER_API_POLICIES_CONFIG_POLICY_H_
