// The configuration of a task that is not a trial, after parsing, merging and defaults. Only
// master/parse creates it.
//
// PURE.
#ifndef MASTER_CORE_MODEL_COMMAND_CONFIG_H_
#define MASTER_CORE_MODEL_COMMAND_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "master/core/model/task_config.h"

namespace det::model {

// What counts as activity of a notebook.
enum class NotebookIdleType { kKernelsOrTerminals, kKernelConnections, kActivity };

struct CommandConfig {
  std::string description;  // empty: the master makes a name
  // The same sections as of an experiment; `slots_per_trial` is the number of slots.
  EnvironmentConfig environment;
  ResourcesConfig resources;
  std::vector<BindMountConfig> bind_mounts;
  BatchSchedulerConfig slurm;
  BatchSchedulerConfig pbs;
  bool debug = false;
  // One word is run by a shell; several are a program and its arguments.
  std::vector<std::string> entrypoint;
  std::vector<std::string> tensorboard_args;
  std::optional<absl::Duration> idle_timeout;
  NotebookIdleType notebook_idle_type = NotebookIdleType::kKernelsOrTerminals;
  std::string work_dir;  // empty: the context directory
  bool preemptible = false;
  int64_t preemption_timeout_seconds = 0;
  friend bool operator==(const CommandConfig&, const CommandConfig&) = default;
};

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_COMMAND_CONFIG_H_
