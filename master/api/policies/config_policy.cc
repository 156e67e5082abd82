#include "master/api/policies/config_policy.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/core/model/id_text.h"
#include "master/parse/config_node.h"
#include "master/parse/template.h"

namespace det::api {
namespace {

using model::ConfigMember;
using model::ConfigNode;
using model::Value;

constexpr char kInvariant[] = "invariant_config";
constexpr char kConstraints[] = "constraints";
constexpr char kClusterPolicyName[] = "the policy of the cluster";

absl::Status MakeError(const std::string& where, const std::string& path, const std::string& text) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", path, ": ", text));
}

absl::Status CheckMembers(const ConfigNode& node, const std::string& path,
                          const std::vector<std::string>& known) {
  const std::string name = path.empty() ? "policy" : path;
  if (!node.is_map())
    return MakeError(node.where, name, absl::StrCat("expected a map, found ", node.Describe()));
  for (const ConfigMember& member : node.members) {
    if (std::count(known.begin(), known.end(), member.key) > 0) continue;
    return MakeError(member.where, path.empty() ? member.key : absl::StrCat(path, ".", member.key),
                     absl::StrCat("unknown field; expected one of: ", known.front(),
                                  known.size() > 1 ? absl::StrCat(", ", known.back()) : ""));
  }
  return absl::OkStatus();
}

absl::Status CheckInteger(const ConfigNode& root, const char* path, int64_t min, int64_t max) {
  const ConfigNode* node = root.FindPath(path);
  if (node == nullptr) return absl::OkStatus();
  const int64_t* value = node->is_scalar() ? node->scalar.AsInt() : nullptr;
  if (value != nullptr && *value >= min && *value <= max) return absl::OkStatus();
  return MakeError(
      node->where, path,
      absl::StrCat("expected an integer from ", min, " to ", max, ", found ", node->Describe()));
}

absl::Status CheckConstraints(const ConfigNode& root) {
  const ConfigNode* constraints = root.Find(kConstraints);
  if (constraints == nullptr) return absl::OkStatus();
  DET_RETURN_IF_ERROR(CheckMembers(*constraints, kConstraints, {"resources", "priority_limit"}));
  if (const ConfigNode* resources = constraints->Find("resources")) {
    DET_RETURN_IF_ERROR(CheckMembers(*resources, "constraints.resources", {"max_slots"}));
  }
  DET_RETURN_IF_ERROR(CheckInteger(root, "constraints.resources.max_slots", 0, 1'000'000));
  return CheckInteger(root, "constraints.priority_limit", 1, 99);
}

absl::Status CheckInvariant(const ConfigNode& root, const std::string& workload) {
  const ConfigNode* invariant = root.Find(kInvariant);
  if (invariant == nullptr) return absl::OkStatus();
  if (!invariant->is_map()) {
    return MakeError(invariant->where, kInvariant,
                     absl::StrCat("expected a map, found ", invariant->Describe()));
  }
  for (const char* place : {"workspace", "project"}) {
    const ConfigNode* node = invariant->Find(place);
    if (node == nullptr) continue;
    return MakeError(node->where, absl::StrCat(kInvariant, ".", place),
                     "policies cannot set the workspace or project of an experiment; remove it");
  }
  if (workload != kExperimentWorkload) {
    if (invariant->members.empty()) return absl::OkStatus();
    return MakeError(invariant->where, kInvariant,
                     "is only supported for experiments; remove it, and use constraints");
  }
  return model::ParseTemplate(invariant->ToValue().ToJson(), kInvariant).status();
}

// A policy must allow what it sets.
absl::Status CheckConsistent(const ConfigNode& root) {
  const auto find = [&root](const char* path) -> std::optional<int64_t> {
    const ConfigNode* node = root.FindPath(path);
    const int64_t* value = node != nullptr && node->is_scalar() ? node->scalar.AsInt() : nullptr;
    return value == nullptr ? std::nullopt : std::optional(*value);
  };
  const auto slots = find("invariant_config.resources.max_slots");
  const auto max_slots = find("constraints.resources.max_slots");
  if (slots && max_slots && *slots > *max_slots) {
    return MakeError(root.FindPath("invariant_config.resources.max_slots")->where,
                     "invariant_config.resources.max_slots",
                     absl::StrCat(*slots, " is more than constraints.resources.max_slots, ",
                                  *max_slots, "; change one of them"));
  }
  const auto priority = find("invariant_config.resources.priority");
  const auto limit = find("constraints.priority_limit");
  if (priority && limit && *priority < *limit) {
    return MakeError(root.FindPath("invariant_config.resources.priority")->where,
                     "invariant_config.resources.priority",
                     absl::StrCat(*priority, " is ahead of constraints.priority_limit, ", *limit,
                                  "; change one of them"));
  }
  return absl::OkStatus();
}

std::optional<int> FindInteger(const Value& policies, std::string_view outer,
                               std::string_view inner = "") {
  const Value* found = policies.Find(kConstraints);
  if (found != nullptr) found = found->Find(outer);
  if (found != nullptr && !inner.empty()) found = found->Find(inner);
  if (found == nullptr || !found->AsNumber()) return std::nullopt;
  return static_cast<int>(*found->AsNumber());
}

void AddPolicy(const Value& policies, const std::string& source, ConfigPolicy* out) {
  const Value* invariant = policies.Find(kInvariant);
  if (invariant != nullptr && invariant->AsObject() != nullptr && !invariant->AsObject()->empty()) {
    out->layers.push_back({source, invariant->ToJson()});
  }
  if (const auto slots = FindInteger(policies, "resources", "max_slots")) {
    out->max_slots = Limit{*slots, source};
  }
  if (const auto priority = FindInteger(policies, "priority_limit")) {
    out->priority = Limit{*priority, source};
  }
}

// "the 2 slots that the cluster's policy allows"
std::string DescribeMaxSlots(const ConfigPolicy& policy) {
  const auto& limit = *policy.max_slots;
  return absl::StrCat("the ", limit.value, limit.value == 1 ? " slot" : " slots", " that ",
                      limit.source, " allows");
}

absl::Status CheckSlots(const ConfigPolicy& policy, const char* field, int value) {
  if (!policy.max_slots || value <= policy.max_slots->value) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(field, ": ", value, " is more than ",
                                                  DescribeMaxSlots(policy),
                                                  "; request fewer, or ask an administrator"));
}

absl::Status CheckPriority(const ConfigPolicy& policy, const char* field, int value) {
  if (!policy.priority || value >= policy.priority->value) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      field, ": ", value, " is ahead of ", policy.priority->value, ", the highest priority that ",
      policy.priority->source, " allows; use that or a larger number, or ask an administrator"));
}

}  // namespace

absl::StatusOr<Value> ParsePolicies(std::string_view text, const std::string& workload) {
  if (workload != kExperimentWorkload && workload != kTaskWorkload) {
    return absl::InvalidArgumentError(
        absl::StrCat("workload_type: \"", workload, "\" is invalid; expected EXPERIMENT or NTSC"));
  }
  DET_ASSIGN_OR_RETURN(const ConfigNode root, model::ReadYaml(text, "policy", /*with_lines=*/true));
  DET_RETURN_IF_ERROR(CheckMembers(root, "", {kInvariant, kConstraints}));
  DET_RETURN_IF_ERROR(CheckConstraints(root));
  DET_RETURN_IF_ERROR(CheckInvariant(root, workload));
  DET_RETURN_IF_ERROR(CheckConsistent(root));
  return root.ToValue();
}

ConfigPolicy CombinePolicies(const Value& workspace, const std::string& workspace_name,
                             const Value& cluster) {
  ConfigPolicy policy;
  AddPolicy(workspace, absl::StrCat("the policy of workspace ", workspace_name), &policy);
  AddPolicy(cluster, kClusterPolicyName, &policy);
  return policy;
}

absl::StatusOr<ConfigPolicy> FindConfigPolicy(store::Store& store, int32_t workspace,
                                              const std::string& workspace_name,
                                              const std::string& workload) {
  Value own;
  if (workspace != 0) {
    DET_ASSIGN_OR_RETURN(own, store.config_policies().GetPolicies(workspace, workload));
  }
  DET_ASSIGN_OR_RETURN(const Value cluster, store.config_policies().GetPolicies(0, workload));
  return CombinePolicies(own, workspace_name, cluster);
}

absl::Status ApplyLimits(const ConfigPolicy& policy, model::ExperimentConfig& config) {
  model::ResourcesConfig& resources = config.resources;
  DET_RETURN_IF_ERROR(CheckSlots(policy, "resources.slots_per_trial", resources.slots_per_trial));
  DET_RETURN_IF_ERROR(
      CheckSlots(policy, "resources.max_slots_per_trial", resources.max_slots_per_trial));
  if (resources.max_slots) {
    DET_RETURN_IF_ERROR(CheckSlots(policy, "resources.max_slots", *resources.max_slots));
  } else if (policy.max_slots) {
    resources.max_slots = policy.max_slots->value;
  }
  if (!resources.priority) return absl::OkStatus();
  return CheckPriority(policy, "resources.priority", *resources.priority);
}

// Users cannot change a field that a policy sets. `section`: "resources".
absl::Status CheckInvariant(const ConfigPolicy& policy, std::string_view section,
                            std::string_view member, const Value& value) {
  for (const model::ConfigLayer& layer : policy.layers) {
    DET_ASSIGN_OR_RETURN(const ConfigNode root,
                         model::ReadYaml(layer.text, layer.name, /*with_lines=*/false));
    const ConfigNode* fixed =
        root.FindPath(absl::StrCat(std::string(section), ".", std::string(member)));
    if (fixed == nullptr || fixed->ToValue().ToJson() == value.ToJson()) continue;
    return absl::PermissionDeniedError(absl::StrCat(std::string(member), ": ", layer.name, " sets ",
                                                    fixed->ToValue().ToJson(),
                                                    "; keep that value, or ask an administrator"));
  }
  return absl::OkStatus();
}

// A job that was submitted before the limit keeps its priority, but cannot move ahead with it.
absl::Status CheckMove(const ConfigPolicy& policy, const cluster::UpdateQueue::Update& update,
                       const model::ResourcesConfig& resources,
                       const experiment::QueuePlace& place) {
  if (!update.ahead_of && !update.behind_of) return absl::OkStatus();
  // The pool's default priority is always allowed.
  if (update.priority || !resources.priority) return absl::OkStatus();
  const char* const field = update.ahead_of ? "ahead_of: priority" : "behind_of: priority";
  return CheckPriority(policy, field, place.priority);
}

absl::Status CheckUpdate(const ConfigPolicy& policy, const cluster::UpdateQueue::Update& update) {
  if (update.priority) {
    DET_RETURN_IF_ERROR(CheckPriority(policy, "priority", *update.priority));
    DET_RETURN_IF_ERROR(CheckInvariant(policy, "resources", "priority", int64_t{*update.priority}));
  }
  if (update.max_slots) {
    if (*update.max_slots == 0 && policy.max_slots) {
      return absl::PermissionDeniedError(
          absl::StrCat("max_slots: 0 (no limit) is more than ", DescribeMaxSlots(policy)));
    }
    DET_RETURN_IF_ERROR(CheckSlots(policy, "max_slots", *update.max_slots));
    DET_RETURN_IF_ERROR(
        CheckInvariant(policy, "resources", "max_slots", int64_t{*update.max_slots}));
  }
  if (update.weight)
    DET_RETURN_IF_ERROR(CheckInvariant(policy, "resources", "weight", *update.weight));
  if (!update.resource_pool) return absl::OkStatus();
  return CheckInvariant(policy, "resources", "resource_pool", *update.resource_pool);
}

absl::Status CheckRetentionUpdate(store::Store& store, const experiment::Experiment& e,
                                  const experiment::RetentionPolicy& changed) {
  DET_ASSIGN_OR_RETURN(const ConfigPolicy policy,
                       FindConfigPolicy(store, e.workspace, e.config->workspace));
  const std::pair<std::string_view, int> members[] = {
      {"save_experiment_best", changed.experiment_best},
      {"save_trial_best", changed.trial_best},
      {"save_trial_latest", changed.trial_latest}};
  for (const auto& [member, value] : members) {
    DET_RETURN_IF_ERROR(CheckInvariant(policy, "checkpoint_storage", member, int64_t{value}));
  }
  return absl::OkStatus();
}

absl::Status CheckTaskLimits(const ConfigPolicy& policy, const model::ResourcesConfig& resources) {
  DET_RETURN_IF_ERROR(CheckSlots(policy, "resources.slots", resources.slots_per_trial));
  if (!resources.priority) return absl::OkStatus();
  return CheckPriority(policy, "resources.priority", *resources.priority);
}

absl::Status CheckTaskUpdate(store::Store& store, const model::TaskId& task,
                             const cluster::UpdateQueue::Update& update) {
  DET_ASSIGN_OR_RETURN(const store::TaskRecord record, store.tasks().Get(task));
  DET_ASSIGN_OR_RETURN(
      const ConfigPolicy policy,
      FindConfigPolicy(store, record.task.workspace, record.task.workspace_name, kTaskWorkload));
  DET_RETURN_IF_ERROR(CheckUpdate(policy, update));
  return CheckMove(policy, update, record.task.definition->resources, record.task.queue);
}

absl::Status CheckQueueUpdate(store::Store& store, const cluster::UpdateQueue& update) {
  for (const cluster::UpdateQueue::Update& each : update.updates) {
    if (const model::TaskId task(each.job.value()); model::IsOtherTask(task)) {
      DET_RETURN_IF_ERROR(CheckTaskUpdate(store, task, each));
      continue;
    }
    const std::optional<model::ExperimentId> id = model::ParseJobId(each.job);
    if (!id) continue;
    DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record, store.GetExperiment(*id));
    const experiment::Experiment& e = record.experiment;
    DET_ASSIGN_OR_RETURN(const ConfigPolicy policy,
                         FindConfigPolicy(store, e.workspace, e.config->workspace));
    DET_RETURN_IF_ERROR(CheckUpdate(policy, each));
    DET_RETURN_IF_ERROR(CheckMove(policy, each, e.config->resources, e.queue));
  }
  return absl::OkStatus();
}

}  // namespace det::api
