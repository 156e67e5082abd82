// Fields that this cluster does not support, and limits that the parser enforces.
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "master/core/model/entrypoint.h"
#include "master/core/model/variables.h"
#include "master/parse/read.h"
#include <re2/re2.h>

namespace det::model {
namespace {

std::string Locate(const ConfigNode& root, std::string_view path) {
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
           "ignored: tasks run as processes on the agent's machine; only file permissions keep "
           "them from writing"});
    }
    if (mount.propagation != BindMountConfig().propagation) {
      warnings.push_back({list == nullptr ? root.where : list->items.at(i).where,
                          absl::StrCat("bind_mounts[", i, "].propagation"),
                          "ignored: tasks run as processes and mount nothing"});
    }
    if (mount.container_path == mount.host_path || list == nullptr) continue;
    problems.push_back(
        {list->items.at(i).where, absl::StrCat("bind_mounts[", i, "].container_path"),
         absl::StrCat("tasks run as processes on the agent's machine and use host_path itself; set "
                      "both to ",
                      mount.host_path)});
  }
}

// Checks log policies on submission only: stored ones stay valid.
void CheckLogPolicies(const ConfigNode& root, const ExperimentConfig& config,
                      std::vector<Problem>& problems) {
  const ConfigNode* list = root.Find("log_policies");
  if (list == nullptr) return;
  const size_t count = config.log_policies.size();
  if (count > kMaxLogPolicies) {
    problems.push_back({list->where, "log_policies",
                        absl::StrCat("too many log policies: ", count, "; at most ",
                                     kMaxLogPolicies, " are allowed")});
    return;
  }
  RE2::Options options(RE2::Quiet);
  options.set_max_mem(kLogPatternMemory);
  for (size_t i = 0; i < count; ++i) {
    const std::string& text = config.log_policies[i].pattern;
    const RE2 pattern(text, options);
    if (pattern.ok() || i >= list->items.size()) continue;
    problems.push_back({list->items.at(i).where, absl::StrCat("log_policies[", i, "].pattern"),
                        absl::StrCat("invalid regular expression (RE2) \"", text.substr(0, 100),
                                     "\": ", pattern.error())});
  }
}

// Warns about deprecated fields and fields of another storage type, which are not stored.
void CheckIgnored(const ConfigNode& root, const ExperimentConfig& config,
                  std::vector<Problem>& warnings) {
  const auto warn = [&](const Field& field, const std::string& why) {
    const ConfigNode* node = root.FindPath(field.path);
    if (node == nullptr || node->is_null()) return;
    warnings.push_back({node->where, field.path, absl::StrCat("ignored: ", why)});
  };
  for (const Field& field : Fields()) {
    // The ignored field with a default is the version, which the rules check.
    if (field.role == Field::Role::kIgnored && field.default_json == nullptr) {
      warn(field, field.warning != nullptr ? field.warning : "the field is deprecated");
    } else if (field.ignored_for != nullptr && !AppliesTo(field, config)) {
      warn(field, absl::StrCat("it does not apply to ", field.ignored_for));
    }
  }
}

// Warns about variables that users cannot set.
void CheckVariables(const ConfigNode& root, const ExperimentConfig& config,
                    std::vector<Problem>& warnings) {
  const auto& given = config.environment.variables;
  std::set<std::string> taken;
  for (const auto* list : {&given.cpu, &given.cuda, &given.rocm}) {
    for (const std::string& entry : *list) {
      const std::string_view name = VariableName(entry);
      if (!IsUserVariable(name)) taken.emplace(name);
    }
  }
  if (taken.empty()) return;
  constexpr char kPath[] = "environment.environment_variables";
  warnings.push_back({Locate(root, kPath), kPath,
                      absl::StrCat("ignored: ", absl::StrJoin(taken, ", "),
                                   "; names that begin with DET_ are reserved, except ",
                                   absl::StrJoin(kUserVariables, ", "))});
}

// Returns a possible batch size that is not divisible by the number of slots.
std::optional<int64_t> Indivisible(const Hyperparameter& hparam, int64_t slots) {
  std::vector<Value> values;
  if (const auto* constant = std::get_if<ConstHparam>(&hparam.kind)) values = {constant->val};
  if (const auto* some = std::get_if<CategoricalHparam>(&hparam.kind)) values = some->vals;
  if (const auto* range = std::get_if<IntHparam>(&hparam.kind)) {
    values.emplace_back(range->minval);
    if (range->minval < range->maxval) values.emplace_back(range->minval + 1);
  }
  for (const Value& value : values) {
    if (value.AsInt() != nullptr && *value.AsInt() % slots != 0) return *value.AsInt();
  }
  return std::nullopt;
}

void CheckBatchSize(const ConfigNode& root, const ExperimentConfig& config,
                    std::vector<Problem>& warnings) {
  const auto size = config.hyperparameters.find("global_batch_size");
  if (size == config.hyperparameters.end()) return;
  const int64_t least = std::max(1, config.resources.slots_per_trial);
  const int64_t most = std::max<int64_t>(least, config.resources.max_slots_per_trial);
  // Few consecutive numbers divide a number, so this ends soon.
  for (int64_t slots = least; slots <= most; ++slots) {
    const std::optional<int64_t> records = Indivisible(size->second, slots);
    if (!records) continue;
    constexpr char kPath[] = "hyperparameters.global_batch_size";
    warnings.push_back({Locate(root, kPath), kPath,
                        absl::StrCat(*records, " records cannot be divided evenly among ", slots,
                                     " slots of a trial; a Trial class refuses to train then")});
    return;
  }
}

// Whether a Trial class trains: as the entrypoint, or as an argument of a launcher in a command.
bool RunsTrialClass(const Entrypoint& entrypoint) {
  if (ParseTrialEntrypoint(entrypoint) || IsPythonEntrypoint(entrypoint)) return true;
  const auto* argv = std::get_if<std::vector<std::string>>(&entrypoint);
  const std::string command =
      argv != nullptr ? absl::StrJoin(*argv, " ") : std::get<std::string>(entrypoint);
  return absl::StrContains(command, "--trial") || absl::StrContains(command, "--class");
}

// Warns about fields that only Trial classes apply.
void CheckCommand(const ConfigNode& root, const ExperimentConfig& config,
                  std::vector<Problem>& warnings) {
  if (RunsTrialClass(config.entrypoint)) return;
  for (const char* path : {"min_validation_period", "min_checkpoint_period", "checkpoint_policy",
                           "perform_initial_validation", "records_per_epoch", "scheduling_unit"}) {
    const Field& field = *FindField(path);
    if (root.FindPath(path) == nullptr) continue;
    if (FieldValue(field, config) == FieldValue(field, ExperimentConfig())) continue;
    warnings.push_back(
        {Locate(root, path), path, "ignored: only Trial classes apply it; a script may read it"});
  }
}

// Trial classes do not own the training loop, so the configuration must set its length.
void CheckLengthIsKnown(const ConfigNode& root, const ExperimentConfig& config,
                        std::vector<Problem>& problems) {
  const SearcherConfig& searcher = config.searcher;
  const ConfigNode* node = root.Find("searcher");
  if (node == nullptr || !node->is_map()) return;  // reported before
  const ConfigNode* const length = node->Find("max_length");
  if (length != nullptr && !length->is_null() && !searcher.max_length) return;  // reported before
  if (!ParseTrialEntrypoint(config.entrypoint) && !IsPythonEntrypoint(config.entrypoint)) return;
  if (searcher.max_length || IsAmong("batches|records|epochs", searcher.time_metric)) return;
  problems.push_back(
      {node->where, "searcher",
       absl::StrCat(
           "a Trial class requires a training length: set max_length, for example {epochs: "
           "3}, or max_time with the time_metric batches, records or epochs",
           searcher.time_metric.empty() ? ""
                                        : absl::StrCat(" instead of ", searcher.time_metric))});
}

// C++ Trials support all strategies but one. They would fail too, but only after they got their
// slots.
void CheckTrialClass(const ConfigNode& root, const ExperimentConfig& config,
                     std::vector<Problem>& problems) {
  if (!ParseTrialEntrypoint(config.entrypoint)) return;
  const std::string& strategy = config.optimizations.strategy;
  if (strategy != "fsdp") return;
  problems.push_back({Locate(root, "optimizations.strategy"), "optimizations.strategy",
                      absl::StrCat(strategy,
                                   " is only supported by Python Trials; C++ Trials support "
                                   "allreduce, local_sgd, async, parameter_server, pipeline and "
                                   "in_process")});
}

// The scale of int8 belongs to one bucket of one slot, so buckets cannot change.
void RefuseWithInt8(const ConfigNode& root, const OptimizationsConfig& given,
                    std::vector<Problem>& problems) {
  const auto refuse = [&](const char* path) {
    problems.push_back({Locate(root, path), path,
                        "is not supported with gradient_compression int8; choose float16 or "
                        "bfloat16"});
  };
  if (given.auto_tune_tensor_fusion) refuse("optimizations.auto_tune_tensor_fusion");
  if (given.hierarchical_allreduce) refuse("optimizations.hierarchical_allreduce");
}

// Options for gradients do not apply to strategies that exchange weights. The Trial class would
// fail too, but only after it got its slots.
void CheckStrategy(const ConfigNode& root, const ExperimentConfig& config,
                   std::vector<Problem>& problems) {
  const OptimizationsConfig defaults;
  const OptimizationsConfig& given = config.optimizations;
  if (given.gradient_compression == "int8") RefuseWithInt8(root, given, problems);
  if (given.strategy == defaults.strategy) return;
  const auto refuse = [&](const char* path) {
    problems.push_back({Locate(root, path), path,
                        absl::StrCat("is only supported with the strategy ", defaults.strategy,
                                     ", not ", given.strategy, "; remove one of the two")});
  };
  if (given.gradient_compression != defaults.gradient_compression) {
    refuse("optimizations.gradient_compression");
  }
  if (given.shard_optimizer) refuse("optimizations.shard_optimizer");
  if (given.hierarchical_allreduce) refuse("optimizations.hierarchical_allreduce");
  if (given.auto_tune_tensor_fusion) refuse("optimizations.auto_tune_tensor_fusion");
}

// Warns about options of strategies that are not chosen.
void CheckOtherStrategies(const ConfigNode& root, const ExperimentConfig& config,
                          std::vector<Problem>& warnings) {
  const OptimizationsConfig defaults;
  const OptimizationsConfig& given = config.optimizations;
  const auto warn = [&](const char* path, const char* strategies) {
    warnings.push_back({Locate(root, path), path,
                        absl::StrCat("ignored: it applies to optimizations.strategy ", strategies,
                                     ", not ", given.strategy)});
  };
  if (given.local_sgd_steps != defaults.local_sgd_steps &&
      !IsAmong("local_sgd|async", given.strategy)) {
    warn("optimizations.local_sgd_steps", "local_sgd or async");
  }
  if (given.pipeline_micro_batches != defaults.pipeline_micro_batches &&
      given.strategy != "pipeline") {
    warn("optimizations.pipeline_micro_batches", "pipeline");
  }
}

}  // namespace

void CheckUnsupportedFields(const ConfigNode& root, const ExperimentConfig& config,
                            std::vector<Problem>& problems, std::vector<Problem>& warnings) {
  const ExperimentConfig defaults;
  const Field* const profiling = FindField("profiling.enabled");
  const bool of_a_class = RunsTrialClass(config.entrypoint);
  for (const Field& field : Fields()) {
    if (field.warning == nullptr && field.refusal == nullptr) continue;
    if (field.role == Field::Role::kIgnored) continue;
    if (&field == profiling && of_a_class) continue;
    if (root.FindPath(field.path) == nullptr) continue;
    const Value value = FieldValue(field, config);
    if (value == FieldValue(field, defaults)) continue;
    if (IsRefused(field, value)) {
      problems.push_back({Locate(root, field.path), field.path, field.refusal});
    } else if (field.warning != nullptr) {
      warnings.push_back(
          {Locate(root, field.path), field.path, absl::StrCat("ignored: ", field.warning)});
    }
  }
  CheckMounts(root, config, problems, warnings);
  CheckIgnored(root, config, warnings);
  CheckVariables(root, config, warnings);
  CheckBatchSize(root, config, warnings);
  CheckCommand(root, config, warnings);
  CheckLengthIsKnown(root, config, problems);
  CheckTrialClass(root, config, problems);
  CheckStrategy(root, config, problems);
  CheckOtherStrategies(root, config, warnings);
  CheckLogPolicies(root, config, problems);
  if (config.resources.weight == 0) {
    problems.push_back({Locate(root, "resources.weight"), "resources.weight",
                        "expected a number above 0, found 0"});
  }
}

}  // namespace det::model
