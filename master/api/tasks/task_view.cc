#include "master/api/tasks/task_view.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "master/api/common/agent_user.h"
#include "master/api/common/convert_resources.h"

namespace det::api {
namespace {

using State = v1::Allocation::State;

v1::Container::State ToContainerState(const experiment::LocalTask& local_task) {
  if (local_task.exited) return v1::Container::STATE_TERMINATED;
  return local_task.started ? v1::Container::STATE_RUNNING : v1::Container::STATE_STARTING;
}

std::optional<v1::Container> MakeContainer(const cluster::Cluster& cluster,
                                           const experiment::Allocation& allocation) {
  if (allocation.local_tasks.empty()) return std::nullopt;
  const experiment::LocalTask& local_task = allocation.local_tasks.front();
  v1::Container container;
  container.set_id(allocation.id.value());
  container.set_parent(allocation.task.value());
  container.set_state(ToContainerState(local_task));
  const auto agent = cluster.agents().find(local_task.placement.agent);
  if (agent == cluster.agents().end()) return container;
  const std::vector<int>& slots = local_task.placement.slots;
  for (const model::Device& device : agent->second.slots) {
    if (std::count(slots.begin(), slots.end(), device.id) == 0) continue;
    *container.add_devices() = ToDevice(device);
  }
  return container;
}

LiveTasks CollectLiveTasks(const cluster::Cluster& cluster) {
  LiveTasks live;
  for (const experiment::Task* task : cluster.live_tasks()) {
    LiveTask& out = live[task->id];
    const experiment::Allocation* allocation =
        task->allocation ? cluster.FindAllocation(*task->allocation) : nullptr;
    if (allocation == nullptr) continue;
    out.allocation = *allocation;
    out.container = MakeContainer(cluster, *allocation);
    out.agent_user = GetAgentUser(cluster, *allocation);
  }
  return live;
}

}  // namespace

void QueryLiveTasks(engine::Engine& engine, base::ThreadPool& pool,
                    absl::AnyInvocable<void(absl::StatusOr<LiveTasks>)> then) {
  auto live = std::make_shared<LiveTasks>();
  engine.Query([live](const cluster::Cluster& cluster) { *live = CollectLiveTasks(cluster); },
               [&pool, live, then = std::move(then)](const absl::Status& status) mutable {
                 pool.Post([live, status, then = std::move(then)]() mutable {
                   if (!status.ok()) return then(status);
                   then(std::move(*live));
                 });
               });
}

State GetState(const experiment::Task& task, const LiveTask* live) {
  if (live != nullptr && live->allocation) {
    switch (live->allocation->state) {
      case model::AllocationState::kQueued:
        return v1::Allocation::STATE_QUEUED;
      case model::AllocationState::kAssigned:
        return v1::Allocation::STATE_STARTING;
      case model::AllocationState::kRunning:
        return v1::Allocation::STATE_RUNNING;
      case model::AllocationState::kPreempting:
      case model::AllocationState::kStopping:
        return v1::Allocation::STATE_TERMINATING;
      case model::AllocationState::kTerminated:
        break;
    }
  }
  switch (task.state) {
    case model::TaskState::kQueued:
      return v1::Allocation::STATE_QUEUED;
    case model::TaskState::kRunning:
      return v1::Allocation::STATE_RUNNING;
    case model::TaskState::kStopping:
      return v1::Allocation::STATE_TERMINATING;
    default:
      return v1::Allocation::STATE_TERMINATED;
  }
}

v1::Task::Type ToProto(model::TaskKind kind) {
  switch (kind) {
    case model::TaskKind::kTrial:
      return v1::Task::TASK_TYPE_TRIAL;
    case model::TaskKind::kCommand:
      return v1::Task::TASK_TYPE_COMMAND;
    case model::TaskKind::kNotebook:
      return v1::Task::TASK_TYPE_NOTEBOOK;
    case model::TaskKind::kShell:
      return v1::Task::TASK_TYPE_SHELL;
    case model::TaskKind::kTensorboard:
      return v1::Task::TASK_TYPE_TENSORBOARD;
    case model::TaskKind::kGeneric:
      return v1::Task::TASK_TYPE_GENERIC;
  }
  return v1::Task::TASK_TYPE_UNSPECIFIED;
}

std::string DescribeEnd(const store::TaskRecord& record) {
  const experiment::Task& task = record.task;
  if (!model::IsTerminal(task.state)) return "";
  if (task.state != model::TaskState::kError) return "allocation exited successfully";
  if (record.exit_code.value_or(0) == 0) return task.reason;
  return absl::StrCat("resources failed with non-zero exit code: ", task.reason, " (exit code ",
                      *record.exit_code, ")");
}

}  // namespace det::api
