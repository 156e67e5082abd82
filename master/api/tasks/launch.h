// Prepares the event that creates a command, notebook, shell or TensorBoard.
//
// Called by command_service.cc on the pool; blocks.
#ifndef MASTER_API_TASKS_LAUNCH_H_
#define MASTER_API_TASKS_LAUNCH_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "det/api/v1/command.pb.h"
#include "master/api/experiments/context_archive.h"
#include "master/api/tasks/launch_settings.h"
#include "master/auth/permissions.h"
#include "master/core/cluster/event.h"
#include "master/core/model/resource_pool.h"
#include "master/core/model/states.h"
#include "master/store/interfaces/store.h"

namespace det::api {

struct Launch {
  cluster::CreateTask event;
  ContextArchive context;
};

// The resource pools of the cluster.
struct LaunchPools {
  std::string default_compute, default_aux;  // for tasks that name no pool
  std::vector<model::ResourcePool> known;
};

// Stores nothing. INVALID_ARGUMENT with every problem of the configuration, or the first one of the
// files; NOT_FOUND if the workspace, the template, or an experiment that a TensorBoard shows does not
// exist or is not visible;
// PERMISSION_DENIED if the caller, who will own the task, may not create it there, or if a policy
// forbids a value.
absl::StatusOr<Launch> PrepareLaunch(store::Store& store, const LaunchSettings& settings,
                                     const v1::LaunchCommandRequest& request, model::TaskKind kind,
                                     const LaunchPools& pools, const auth::Principal& principal);

}  // namespace det::api

#endif  // MASTER_API_TASKS_LAUNCH_H_
