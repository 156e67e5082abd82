// What this cluster does not act on, and what it could not keep up with.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "master/model/entrypoint.h"
#include "master/model/parse/read.h"
#include <re2/re2.h>

namespace det::model {
namespace {

std::string WhereIs(const ConfigNode& root, std::string_view path) {
  const ConfigNode* node = root.FindPath(path);
  return node == nullptr ? root.where : node->where;
}

bool IsRefused(const Field& field, const Value& value) {
  if (field.refusal == nullptr) return false;
  return field.refused == nullptr ||
         (value.AsString() != nullptr && IsAmong(field.refused, *value.AsString()));
}

void CheckMounts(const ConfigNode& root, const ExperimentConfig& config,
                 std::vector<Problem>& problems, std::vector<Problem>& warnings) {
  const ConfigNode* list = root.Find("bind_mounts");
  for (size_t i = 0; i < config.bind_mounts.size(); ++i) {
    const BindMountConfig& mount = config.bind_mounts[i];
    if (mount.read_only) {
      warnings.push_back(
          {list == nullptr ? root.where : list->items.at(i).where,
           absl::StrCat("bind_mounts[", i, "].read_only"),
           "kept, but without effect: tasks are processes of the agent's machine, and "
           "the file system's rights alone keep them from writing"});
    }
    if (mount.container_path == mount.host_path || list == nullptr) continue;
    problems.push_back(
        {list->items.at(i).where, absl::StrCat("bind_mounts[", i, "].container_path"),
         absl::StrCat("tasks are processes of the agent's machine and see host_path itself; write ",
                      mount.host_path, " for both, or the trial would not find its files")});
  }
}

// Judged at the door alone: what was let in once is kept.
void CheckLogPolicies(const ConfigNode& root, const ExperimentConfig& config,
                      std::vector<Problem>& problems) {
  const ConfigNode* list = root.Find("log_policies");
  if (list == nullptr) return;
  const size_t count = config.log_policies.size();
  if (count > kMaxLogPolicies) {
    problems.push_back({list->where, "log_policies",
                        absl::StrCat(count, " are more than every line can be held against; keep ",
                                     kMaxLogPolicies)});
    return;
  }
  RE2::Options options(RE2::Quiet);
  options.set_max_mem(kLogPatternMemory);
  for (size_t i = 0; i < count; ++i) {
    const std::string& text = config.log_policies[i].pattern;
    const RE2 pattern(text, options);
    if (pattern.ok() || i >= list->items.size()) continue;
    problems.push_back({list->items.at(i).where, absl::StrCat("log_policies[", i, "].pattern"),
                        absl::StrCat("\"", text.substr(0, 100),
                                     "\" is no regular expression (RE2): ", pattern.error())});
  }
}

// Trials in C++ read less than others.
void CheckTrialClass(const ConfigNode& root, const ExperimentConfig& config,
                     std::vector<Problem>& warnings) {
  if (!ParseTrialEntrypoint(config.entrypoint)) return;
  OptimizationsConfig unread = config.optimizations;
  unread.aggregation_frequency = OptimizationsConfig().aggregation_frequency;
  unread.average_aggregated_gradients = OptimizationsConfig().average_aggregated_gradients;
  if (unread == OptimizationsConfig()) return;
  warnings.push_back({WhereIs(root, "optimizations"), "optimizations",
                      "kept, but without effect: Trials in C++ read aggregation_frequency and "
                      "average_aggregated_gradients alone"});
}

}  // namespace

void CheckHonoured(const ConfigNode& root, const ExperimentConfig& config,
                   std::vector<Problem>& problems, std::vector<Problem>& warnings) {
  const ExperimentConfig defaults;
  for (const Field& field : Fields()) {
    if (field.warning == nullptr && field.refusal == nullptr) continue;
    if (root.FindPath(field.path) == nullptr) continue;
    const Value value = FieldValue(field, config);
    if (value == FieldValue(field, defaults)) continue;
    if (IsRefused(field, value)) {
      problems.push_back({WhereIs(root, field.path), field.path, field.refusal});
    } else if (field.warning != nullptr) {
      warnings.push_back({WhereIs(root, field.path), field.path,
                          absl::StrCat("kept, but without effect: ", field.warning)});
    }
  }
  CheckMounts(root, config, problems, warnings);
  CheckTrialClass(root, config, warnings);
  CheckLogPolicies(root, config, problems);
  if (config.resources.weight == 0) {
    problems.push_back({WhereIs(root, "resources.weight"), "resources.weight",
                        "0 is no share; write a number above 0"});
  }
  if (IsPythonEntrypoint(config.entrypoint)) {
    warnings.push_back(
        {WhereIs(root, "entrypoint"), "entrypoint",
         absl::StrCat(
             "names a Python class, which is an older way: it runs as `",
             absl::StrJoin(PythonTrialCommand(config.entrypoint), " "),
             "`, with what the agent's Python has; a command of your own says it better")});
  }
}

}  // namespace det::model
