// Prepares the event that creates a task that is not a trial.
//
// Called by command_service.cc and generic_task_service.cc on the pool; PrepareLaunch blocks.
#ifndef MASTER_API_TASKS_LAUNCH_H_
#define MASTER_API_TASKS_LAUNCH_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "det/api/v1/command.pb.h"
#include "master/api/experiments/context_archive.h"
#include "master/api/tasks/launch_settings.h"
#include "master/auth/permissions.h"
#include "master/core/cluster/event.h"
#include "master/core/model/resource_pool.h"
#include "master/core/model/states.h"
#include "master/engine/engine.h"
#include "master/store/interfaces/store.h"

namespace det::api {

struct Launch {
  cluster::CreateTask event;
  ContextArchive context;
};

// What a launch needs to know of the cluster: its resource pools, and who has which tasks.
struct LaunchPools {
  std::string default_compute, default_aux;  // for tasks that name no pool
  std::vector<model::ResourcePool> known;
  std::map<model::UserId, int> services;  // live notebooks, shells and TensorBoards of each user
};

// Calls `then` on the thread pool.
void QueryLaunchPools(engine::Engine& engine, base::ThreadPool& pool,
                      absl::AnyInvocable<void(absl::StatusOr<LaunchPools>)> then);

// Stores nothing. `inherited_context` is the hash of the context directory that the task uses if
// the request has no files; may be empty. INVALID_ARGUMENT with every problem of the configuration,
// or the first one of the files; NOT_FOUND if the workspace, the template or an experiment
// that a TensorBoard shows does not exist or is not visible; RESOURCE_EXHAUSTED if the caller has
// too many tasks; PERMISSION_DENIED if the caller, who will own the task, may not create it there,
// or if a policy forbids a value.
absl::StatusOr<Launch> PrepareLaunch(store::Store& store, const LaunchSettings& settings,
                                     const v1::LaunchCommandRequest& request, model::TaskKind kind,
                                     const LaunchPools& pools, const auth::Principal& principal,
                                     const std::string& inherited_context = "");

// Stores the context directory and creates the task; calls `then` on the thread pool after the
// commit. FAILED_PRECONDITION if the workspace was archived or deleted meanwhile; then the task is
// killed. Blocks.
void SubmitLaunch(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
                  Launch launch, absl::AnyInvocable<void(absl::StatusOr<engine::Applied>)> then);

}  // namespace det::api

#endif  // MASTER_API_TASKS_LAUNCH_H_
