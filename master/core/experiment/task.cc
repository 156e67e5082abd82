#include "master/core/experiment/task.h"

#include <algorithm>
#include <tuple>

#include "master/core/experiment/tables.h"

namespace det::experiment {
namespace {

using model::ExitReason;
using model::TaskState;

bool Move(Task& task, TaskEvent event) {
  const std::optional<TaskState> next = base::Lookup(kTaskTable, task.state, event);
  if (next) task.state = *next;
  return next.has_value();
}

TaskActions End(Task& task, TaskEvent event, absl::Time now) {
  TaskActions actions;
  if (!Move(task, event)) return actions;
  task.end_as.reset();
  task.service_port.reset();
  task.ended_at = now;
  actions.changed = true;
  actions.ended = true;
  return actions;
}

TaskActions RunAgain(Task& task) {
  TaskActions actions;
  if (!Move(task, TaskEvent::kRunAgain)) return actions;
  task.end_as.reset();
  task.service_port.reset();
  ++task.run_id;
  actions.changed = true;
  actions.new_attempt = true;
  return actions;
}

bool HoldsSlots(const Task& task) {
  return task.state == TaskState::kRunning || task.state == TaskState::kStopping;
}

// Releases the slots of a task that holds them, to become `end_as`. A kill replaces a pause.
TaskActions ReleaseSlots(Task& task, TaskState end_as) {
  TaskActions actions;
  if (task.state == TaskState::kStopping) {
    if (task.end_as == TaskState::kCanceled || task.end_as == end_as) return actions;
    task.end_as = end_as;
    actions.changed = true;
    return actions;
  }
  if (!Move(task, TaskEvent::kRelease)) return actions;
  task.end_as = end_as;
  actions.changed = true;
  actions.release = true;
  return actions;
}

// It was requested to release its slots, and its attempt has ended.
TaskActions OnReleased(Task& task, absl::Time now) {
  switch (*task.end_as) {
    case TaskState::kCanceled:
      return End(task, TaskEvent::kCancel, now);
    case TaskState::kPaused: {
      TaskActions actions;
      actions.changed = Move(task, TaskEvent::kPaused);
      task.end_as.reset();
      task.service_port.reset();
      ++task.run_id;
      return actions;
    }
    default:
      return RunAgain(task);
  }
}

bool HasBegun(const Allocation& allocation) {
  return std::any_of(allocation.local_tasks.begin(), allocation.local_tasks.end(),
                     [](const LocalTask& local_task) { return local_task.started; });
}

}  // namespace

bool operator==(const Task& a, const Task& b) {
  const auto rest = [](const Task& t) {
    return std::tie(t.id, t.kind, t.owner, t.owner_name, t.workspace, t.workspace_name, t.project,
                    t.parent, t.forked_from, t.pausable, *t.definition, t.queue, t.state, t.end_as,
                    t.reason, t.run_id, t.allocation, t.service_port, t.run_time, t.created_at,
                    t.ended_at);
  };
  return rest(a) == rest(b);
}

model::JobId GetJob(const Task& task) { return model::JobId(task.id.value()); }

TaskActions OnAssigned(Task& task) {
  TaskActions actions;
  actions.changed = Move(task, TaskEvent::kAssigned);
  if (actions.changed) task.reason.clear();
  return actions;
}

TaskActions OnReady(Task& task, int port) {
  TaskActions actions;
  if (task.state != TaskState::kRunning || task.service_port == port) return actions;
  task.service_port = port;
  actions.changed = true;
  return actions;
}

TaskActions Pause(Task& task) {
  if (HoldsSlots(task)) return ReleaseSlots(task, TaskState::kPaused);
  TaskActions actions;
  if (!Move(task, TaskEvent::kPause)) return actions;
  ++task.run_id;
  actions.changed = true;
  actions.release = true;
  return actions;
}

TaskActions Activate(Task& task) {
  TaskActions actions;
  if (task.state == TaskState::kStopping && task.end_as == TaskState::kPaused) {
    return ReleaseSlots(task, TaskState::kQueued);
  }
  if (!Move(task, TaskEvent::kActivate)) return actions;
  actions.changed = true;
  actions.new_attempt = true;
  return actions;
}

TaskActions Kill(Task& task, const std::string& reason, absl::Time now) {
  const bool queued = task.state == TaskState::kQueued;
  TaskActions actions = HoldsSlots(task) ? ReleaseSlots(task, TaskState::kCanceled)
                                         : End(task, TaskEvent::kCancel, now);
  if (actions.changed) task.reason = reason;
  if (queued && actions.ended) actions.release = true;
  return actions;
}

TaskActions OnAttemptEnded(Task& task, const Allocation& allocation, absl::Time now) {
  if (!HoldsSlots(task)) return {};
  const bool canceled = task.end_as == TaskState::kCanceled;
  const std::string& message = allocation.exit_message;
  switch (allocation.exit_reason) {
    case ExitReason::kFinished:
      if (task.end_as) return OnReleased(task, now);
      return End(task, TaskEvent::kComplete, now);
    case ExitReason::kFailed:
    case ExitReason::kInvalidCode:
    case ExitReason::kInvalidHp:
      if (canceled) return OnReleased(task, now);
      task.reason = message;
      return End(task, TaskEvent::kFail, now);
    case ExitReason::kNodeLost:
      if (canceled) return OnReleased(task, now);
      task.reason = message;
      if (HasBegun(allocation)) return End(task, TaskEvent::kFail, now);
      break;
    case ExitReason::kPreempted:
    case ExitReason::kStopped:
    case ExitReason::kNone:
      break;
  }
  if (task.end_as) return OnReleased(task, now);
  if (task.definition->preemptible || !HasBegun(allocation)) {
    task.reason = message.empty() ? allocation.preemption_reason : message;
    return RunAgain(task);
  }
  task.reason = message.empty() ? allocation.preemption_reason : message;
  return End(task, TaskEvent::kFail, now);
}

}  // namespace det::experiment
