// The experiment configuration after parsing, merging and defaults. Only master/parse creates it.
//
// PURE.
#ifndef MASTER_CORE_MODEL_EXPERIMENT_CONFIG_H_
#define MASTER_CORE_MODEL_EXPERIMENT_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "master/core/model/extras_config.h"
#include "master/core/model/length.h"
#include "master/core/model/search_space.h"
#include "master/core/model/searcher_config.h"
#include "master/core/model/storage_config.h"
#include "master/core/model/task_config.h"
#include "master/core/model/value.h"

namespace det::model {

enum class CheckpointPolicy { kBest, kAll, kNone };

// A string is run with `sh -c` unless it names a Trial class (entrypoint.h); a list is an argv.
using Entrypoint = std::variant<std::string, std::vector<std::string>>;

struct ExperimentConfig {
  std::string name;
  std::string description;
  std::vector<std::string> labels;
  Value data = Value::Object{};  // free-form, passed to the trial
  std::string workspace;
  std::string project;
  Entrypoint entrypoint;
  SearchSpace hyperparameters;
  SearcherConfig searcher;
  ResourcesConfig resources;
  int max_restarts = 5;
  Length min_validation_period;
  Length min_checkpoint_period;
  CheckpointPolicy checkpoint_policy = CheckpointPolicy::kBest;
  bool perform_initial_validation = false;
  int64_t records_per_epoch = 0;
  int64_t scheduling_unit = 100;  // batches between two reports of training metrics
  CheckpointStorageConfig checkpoint_storage;
  EnvironmentConfig environment;
  std::vector<BindMountConfig> bind_mounts;
  OptimizationsConfig optimizations;
  ProfilingConfig profiling;
  uint32_t experiment_seed = 0;
  std::vector<LogPolicyConfig> log_policies = BuiltInLogPolicies();
  std::optional<int> log_retention_days;  // -1: forever; absent: the cluster's default
  int64_t preemption_timeout_seconds = 3600;
  BatchSchedulerConfig slurm;
  BatchSchedulerConfig pbs;
  IntegrationsConfig integrations;
  bool debug = false;
  friend bool operator==(const ExperimentConfig&, const ExperimentConfig&) = default;
};

// Converts to the format of the configuration; constants become {type: const, val: ...}.
Value ToValue(const Hyperparameter& hparam);
Value ToValue(const SearchSpace& space);

// Converts to the JSON object that is stored and that the trial reads: every field of the table
// (fields.h) that applies, all defaults included.
Value ToValue(const ExperimentConfig& config);

// The same for users: secret values are "********".
Value ToShownValue(const ExperimentConfig& config);
bool HasSecrets(const ExperimentConfig& config);

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_EXPERIMENT_CONFIG_H_
