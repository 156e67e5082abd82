// Finds the event files that a TensorBoard shows (docs/tasks.md).
//
// Called by command_service.cc on the pool; blocks.
#ifndef MASTER_API_TASKS_TENSORBOARD_SOURCES_H_
#define MASTER_API_TASKS_TENSORBOARD_SOURCES_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "det/api/v1/command.pb.h"
#include "master/auth/permissions.h"
#include "master/core/model/task_config.h"
#include "master/core/model/value.h"
#include "master/store/interfaces/store.h"

namespace det::api {

struct TensorboardSources {
  std::vector<int32_t> experiments;  // all, sorted
  std::set<int32_t> workspaces;      // of the experiments
  // A member for each experiment: {"storage": .., "prefix": .., "trials": [..]}; without "trials",
  // all of its trials. Contains the secrets of the storages.
  model::Value::List sources;
  model::PerSlotType<std::string> image;  // of the newest experiment
};

// INVALID_ARGUMENT if the request names nothing, or if no experiment or too many match; NOT_FOUND for an
// experiment or trial that does not exist or whose artifacts the caller may not see.
absl::StatusOr<TensorboardSources> FindTensorboardSources(store::Store& store,
                                                          const v1::LaunchCommandRequest& request,
                                                          const std::string& cluster_id,
                                                          const auth::Principal& principal);

}  // namespace det::api

#endif  // MASTER_API_TASKS_TENSORBOARD_SOURCES_H_
