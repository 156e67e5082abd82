// Tasks that are not trials: commands, notebooks, shells, TensorBoards, generic tasks.
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/core/cluster/handlers.h"
#include "master/core/cluster/scheduler_input.h"

namespace det::cluster {
namespace {

using experiment::Task;
using experiment::TaskActions;

// The time between SIGTERM and SIGKILL of a kill. JupyterLab needs it to stop its kernels.
constexpr absl::Duration kTaskKillGrace = absl::Seconds(3);

void QueueNewAttempt(Step& step, Task& task) {
  const model::ResourcesConfig& resources = task.definition->resources;
  if (GetRemainingRunTime(task) <= absl::ZeroDuration()) {
    return ApplyActions(step, task,
                        experiment::Kill(task, DescribeRunTimeLimit(resources), step.now));
  }
  experiment::Allocation allocation;
  allocation.id = model::AllocationId(absl::StrCat(task.id.value(), ".", task.run_id));
  allocation.task = task.id;
  allocation.run_id = task.run_id;
  allocation.job = experiment::GetJob(task);
  allocation.resource_pool = task.queue.resource_pool;
  allocation.slots = resources.slots_per_trial;
  allocation.fraction = resources.slot_fraction;
  allocation.submitted = ++step.s.last_submitted;
  allocation.queued_at = step.now;
  task.allocation = allocation.id;
  step.Touch(step.s.allocations.emplace(allocation.id, std::move(allocation)).first->second);
  step.Touch(task);
  step.Reschedule();
}

void LogEnd(Step& step, const Task& task) {
  const bool bad = task.state == model::TaskState::kError;
  step.Log(task.id, task.allocation.value_or(model::AllocationId()),
           bad ? model::LogLevel::kError : model::LogLevel::kInfo,
           absl::StrCat("the task was terminated: ", std::string(model::ToString(task.state)),
                        task.reason.empty() ? "" : ": ", task.reason));
}

// Applies `act` to each of the tasks that lives.
template <class Act>
void ForEachLive(Step& step, const std::vector<model::TaskId>& ids, const Act& act) {
  for (const model::TaskId& id : ids) {
    const auto it = step.s.tasks.find(id);
    if (it == step.s.tasks.end() || model::IsTerminal(it->second.state)) continue;
    ApplyActions(step, it->second, act(it->second));
  }
}

}  // namespace

absl::StatusOr<Outcome> Apply(Step& step, const CreateTask& event) {
  if (step.s.tasks.contains(event.task.id)) return step.Finish();
  Task task = event.task;
  const model::ResourcesConfig& resources = task.definition->resources;
  // Behind the experiments that exist, and behind the tasks that were submitted before.
  const double submitted = static_cast<double>(step.s.last_submitted + 1);
  task.queue = MakePlace(step.s, resources, step.s.last_experiment + 0.5 + submitted * 1e-9);
  if (absl::Status status =
          CheckCanRun(step.s, resources, task.workspace_name, task.queue.resource_pool);
      !status.ok()) {
    // Existing clients look for the first part.
    return absl::InvalidArgumentError(absl::StrCat(
        "request unfulfillable, please try requesting less slots: ", status.message()));
  }
  step.out.exceeds_capacity = !CheckCapacity(step.s, resources, task.queue.resource_pool).ok();
  task.state = model::TaskState::kQueued;
  task.created_at = step.now;
  Task& stored = step.s.tasks.emplace(task.id, std::move(task)).first->second;
  step.TouchJob(stored);
  step.Log(stored.id, model::AllocationId(), model::LogLevel::kInfo,
           absl::StrCat("Scheduling ", stored.definition->description, " (id: ", stored.id.value(),
                        ".", stored.run_id, ")"));
  QueueNewAttempt(step, stored);
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const KillTasks& event) {
  ForEachLive(step, event.ids,
              [&](Task& task) { return experiment::Kill(task, event.reason, step.now); });
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const PauseTasks& event) {
  for (const model::TaskId& id : event.ids) {
    const auto it = step.s.tasks.find(id);
    if (it == step.s.tasks.end() || it->second.pausable) continue;
    return absl::FailedPreconditionError(absl::StrCat("task ", id.value(), " cannot be paused"));
  }
  ForEachLive(step, event.ids, [](Task& task) { return experiment::Pause(task); });
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const ActivateTasks& event) {
  ForEachLive(step, event.ids, [](Task& task) { return experiment::Activate(task); });
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const TaskReady& event) {
  const auto it = step.s.allocations.find(event.allocation);
  if (it == step.s.allocations.end() || experiment::IsTrial(it->second)) return step.Finish();
  Task& task = step.s.tasks.at(it->second.task);
  if (task.allocation != event.allocation) return step.Finish();
  const TaskActions actions = experiment::OnReady(task, event.port);
  if (actions.changed) {
    step.Log(it->second, model::LogLevel::kInfo,
             absl::StrCat("Service of ", task.definition->description, " is available"));
  }
  ApplyActions(step, task, actions);
  return step.Finish();
}

void ApplyActions(Step& step, Task& task, const TaskActions& actions) {
  if (actions.changed) step.Touch(task);
  if (actions.release && task.allocation) {
    const auto it = step.s.allocations.find(*task.allocation);
    if (it != step.s.allocations.end()) {
      const bool kill = task.end_as != model::TaskState::kPaused;
      ApplyActions(step, it->second,
                   experiment::Stop(it->second, kill ? kTaskKillGrace : step.s.settings.stop_grace,
                                    step.now, task.reason));
    }
  }
  if (actions.new_attempt) QueueNewAttempt(step, task);
  if (actions.ended) {
    LogEnd(step, task);
    step.TouchJob(task);
  }
}

void OnAttemptEnded(Step& step, Task& task, const experiment::Allocation& allocation) {
  if (allocation.started_at) {
    task.run_time += *allocation.ended_at - *allocation.started_at;
    step.Touch(task);
  }
  if (task.allocation != allocation.id) return;
  const TaskActions actions = experiment::OnAttemptEnded(task, allocation, step.now);
  if (actions.new_attempt) {
    step.Log(allocation, model::LogLevel::kWarning,
             absl::StrCat("the task is queued again: ", task.reason));
  }
  ApplyActions(step, task, actions);
}

}  // namespace det::cluster
