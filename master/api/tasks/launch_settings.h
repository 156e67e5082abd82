// What the master's configuration sets for tasks that are not trials.
#ifndef MASTER_API_TASKS_LAUNCH_SETTINGS_H_
#define MASTER_API_TASKS_LAUNCH_SETTINGS_H_

#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "master/core/model/task_defaults.h"

namespace det::api {

struct LaunchSettings {
  std::string cluster_id;
  model::TaskDefaults defaults;
  // `task_container_defaults.startup_hook` by pool; "" for the cluster.
  std::map<std::string, std::string> startup_hooks;
  // Applies to tasks that set no idle_timeout; absent: they never end for it.
  std::optional<absl::Duration> notebook_timeout;
  std::optional<absl::Duration> tensorboard_timeout;
  int tasks_per_user = 0;  // live notebooks, shells and TensorBoards of one user; 0: no limit
};

}  // namespace det::api

#endif  // MASTER_API_TASKS_LAUNCH_SETTINGS_H_
