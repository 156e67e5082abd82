// Reads tasks that are not trials, with their live allocations.
//
// Called by the services of this folder, on any thread. Does not block.
#ifndef MASTER_API_TASKS_TASK_VIEW_H_
#define MASTER_API_TASKS_TASK_VIEW_H_

#include <map>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "det/api/v1/agent.pb.h"
#include "det/api/v1/task.pb.h"
#include "master/api/common/convert.h"
#include "master/core/cluster/cluster.h"
#include "master/engine/engine.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// What the cluster knows of a live task.
struct LiveTask {
  std::optional<experiment::Allocation> allocation;
  std::optional<v1::Container> container;  // where it runs; absent while it waits
  std::string agent_user;                  // as which its processes run; empty: unknown
};
using LiveTasks = std::map<model::TaskId, LiveTask>;

// Calls `then` on the pool with the live tasks that are not trials.
void QueryLiveTasks(engine::Engine& engine, base::ThreadPool& pool,
                    absl::AnyInvocable<void(absl::StatusOr<LiveTasks>)> then);

// The state that clients read. `live`: null if the cluster does not know the task.
v1::Allocation::State GetState(const experiment::Task& task, const LiveTask* live);

v1::Task::Type ToProto(model::TaskKind kind);

// Returns how an ended task ended, as existing clients read it; empty while it lives.
std::string DescribeEnd(const store::TaskRecord& record);

// Sets the members that commands, notebooks, shells and TensorBoards share.
template <class Message>
void FillTask(const store::TaskRecord& record, const LiveTasks& live, Message* out) {
  const experiment::Task& task = record.task;
  const auto found = live.find(task.id);
  const LiveTask* alive = found == live.end() ? nullptr : &found->second;
  out->set_id(task.id.value());
  out->set_description(task.definition->description);
  out->set_state(GetState(task, alive));
  *out->mutable_start_time() = ToProto(task.created_at);
  out->set_username(record.username);
  out->set_display_name(record.display_name);
  out->set_user_id(task.owner.value());
  out->set_resource_pool(task.queue.resource_pool);
  out->set_job_id(experiment::GetJob(task).value());
  out->set_workspace_id(task.workspace);
  out->set_exit_status(DescribeEnd(record));
  if (alive != nullptr && alive->container) *out->mutable_container() = *alive->container;
}

}  // namespace det::api

#endif  // MASTER_API_TASKS_TASK_VIEW_H_
