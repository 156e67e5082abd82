// What a user asks for: the experiment configuration after parsing, merging and defaults. Built by
// model/parse alone; everybody else reads it.
//
// PURE.
#ifndef MASTER_MODEL_EXPERIMENT_CONFIG_H_
#define MASTER_MODEL_EXPERIMENT_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "master/model/length.h"
#include "master/model/search_space.h"
#include "master/model/searcher_config.h"
#include "master/model/value.h"

namespace det::model {

struct ResourcesConfig {
  int slots_per_trial = 1;
  std::optional<int> max_slots;  // of the whole experiment
  double weight = 1;
  std::optional<int> priority;  // 1..99, smaller first
  std::string resource_pool;    // empty: the default pool
  bool is_single_node = false;
  friend bool operator==(const ResourcesConfig&, const ResourcesConfig&) = default;
};

struct CheckpointStorageConfig {
  std::string type = "shared_fs";
  std::string host_path;     // absolute
  std::string storage_path;  // below host_path; empty: host_path itself
  int save_experiment_best = 0;
  int save_trial_best = 1;
  int save_trial_latest = 1;
  friend bool operator==(const CheckpointStorageConfig&, const CheckpointStorageConfig&) = default;
};

enum class CheckpointPolicy { kBest, kAll, kNone };

// A string is run by `sh -c`, unless it names a Trial class ("file.cc:Class"); a list is an argv.
using Entrypoint = std::variant<std::string, std::vector<std::string>>;

struct ExperimentConfig {
  std::string name;
  std::string description;
  std::vector<std::string> labels;
  Value data = Value::Object{};  // free-form, handed to the trial
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
  std::vector<std::string> environment_variables;  // "NAME=value"
  uint32_t experiment_seed = 0;
  int64_t preemption_timeout_seconds = 3600;
  bool debug = false;
  friend bool operator==(const ExperimentConfig&, const ExperimentConfig&) = default;
};

// The search space in the configuration's own format; constants are written out as
// {type: const, val: ...}.
Value ToValue(const Hyperparameter& hparam);
Value ToValue(const SearchSpace& space);

// The same as the JSON object that the API shows and that the trial reads (all defaults present).
Value ToValue(const ExperimentConfig& config);

}  // namespace det::model

#endif  // MASTER_MODEL_EXPERIMENT_CONFIG_H_
