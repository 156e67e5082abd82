#include "master/core/experiment/allocation.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "master/core/experiment/tables.h"

namespace det::experiment {
namespace {

using model::AllocationState;
using model::ExitReason;

// Long enough to close files: the other ranks of a gang cannot continue after one has failed.
constexpr absl::Duration kPeerGrace = absl::Seconds(2);

// Makes the transition of the table; returns false if the event does not apply in this state.
bool Move(Allocation& a, AllocationEvent event) {
  const std::optional<AllocationState> next = base::Lookup(kAllocationTable, a.state, event);
  if (next) a.state = *next;
  return next.has_value();
}

LocalTask* FindLocalTask(Allocation& a, const model::AgentId& agent) {
  const auto it = std::find_if(a.local_tasks.begin(), a.local_tasks.end(),
                               [&](const LocalTask& s) { return s.placement.agent == agent; });
  return it == a.local_tasks.end() ? nullptr : &*it;
}

std::string SignalText(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? absl::StrCat("signal ", signal)
                         : absl::StrCat("signal ", signal, " (SIG", name, ")");
}

// "the task on agent-0 was killed by signal 9 (SIGKILL)".
std::string Describe(const LocalTask& local_task) {
  const std::string agent = local_task.placement.agent.value();
  if (!local_task.message.empty()) return absl::StrCat(local_task.message, " (on ", agent, ")");
  if (local_task.signal != 0) {
    return absl::StrCat("the task on ", agent, " was killed by ", SignalText(local_task.signal));
  }
  return absl::StrCat("the task on ", agent, " ended with exit code ", local_task.exit_code);
}

bool AllStarted(const Allocation& a) {
  return std::all_of(a.local_tasks.begin(), a.local_tasks.end(),
                     [](const LocalTask& s) { return s.started; });
}

bool AllExited(const Allocation& a) {
  return std::all_of(a.local_tasks.begin(), a.local_tasks.end(),
                     [](const LocalTask& s) { return s.exited; });
}

AllocationActions StopRest(Allocation& a, absl::Duration grace, absl::Time now) {
  AllocationActions actions;
  for (const LocalTask& local_task : a.local_tasks) {
    if (!local_task.exited) actions.stop.push_back(local_task.placement.agent);
  }
  actions.grace = grace;
  a.deadline = now + grace;
  return actions;
}

// Only the first failure is recorded: later ones are its consequences.
void SetFirstFailure(Allocation& a, ExitReason reason, std::string message) {
  if (a.exit_reason != ExitReason::kNone) return;
  a.exit_reason = reason;
  a.exit_message = std::move(message);
}

void Terminate(Allocation& a, absl::Time now) {
  if (a.exit_reason == ExitReason::kNone) {
    const bool preempted = a.state == AllocationState::kPreempting && a.preemption_acked;
    a.exit_reason = preempted ? ExitReason::kPreempted : ExitReason::kFinished;
  }
  if (a.reported != ExitReason::kNone && a.exit_reason != ExitReason::kStopped) {
    a.exit_reason = a.reported;
  }
  // The trial's own message explains more than an exit code.
  if (!a.reported_message.empty() && a.exit_reason != ExitReason::kStopped &&
      a.exit_reason != ExitReason::kNodeLost) {
    a.exit_message = a.reported_message;
  }
  const bool known = a.exit_reason != ExitReason::kNodeLost;
  if (!a.exit_code && !a.local_tasks.empty() && known) a.exit_code = 0;
  Move(a, a.local_tasks.empty() ? AllocationEvent::kWithdraw : AllocationEvent::kAllExited);
  a.deadline.reset();
  a.ended_at = now;
}

// Ends a local task. `fault` is why that is a failure of the allocation; kNone if it is not.
AllocationActions EndLocalTask(Allocation& a, LocalTask& local_task, ExitReason fault,
                               absl::Time now) {
  local_task.exited = true;
  if (fault != ExitReason::kNone) {
    if (!a.exit_code && fault == ExitReason::kFailed) a.exit_code = local_task.exit_code;
    SetFirstFailure(a, fault, Describe(local_task));
  }
  AllocationActions actions;
  if (AllExited(a)) {
    Terminate(a, now);
    actions.terminated = true;
    return actions;
  }
  if (fault != ExitReason::kNone && Move(a, AllocationEvent::kStop)) {
    return StopRest(a, kPeerGrace, now);
  }
  if (AllStarted(a) && Move(a, AllocationEvent::kAllStarted)) actions.announce = true;
  return actions;
}

}  // namespace

AllocationActions Assign(Allocation& a, std::vector<model::Placement> placements, absl::Time now) {
  AllocationActions actions;
  if (!Move(a, AllocationEvent::kAssign)) return actions;
  for (model::Placement& placement : placements) {
    a.granted += static_cast<int>(placement.slots.size());
    a.local_tasks.push_back({.placement = std::move(placement), .message = "", .suspect = ""});
  }
  a.started_at = now;
  actions.start_local_tasks = true;
  return actions;
}

AllocationActions OnLocalTaskStarted(Allocation& a, const model::AgentId& agent) {
  AllocationActions actions;
  LocalTask* local_task = FindLocalTask(a, agent);
  if (local_task == nullptr || local_task->started || local_task->exited) return actions;
  local_task->started = true;
  if (!AllStarted(a)) return actions;
  Move(a, AllocationEvent::kAllStarted);
  actions.announce = a.state != AllocationState::kStopping;
  return actions;
}

AllocationActions OnLocalTaskExited(Allocation& a, const model::AgentId& agent,
                                    const LocalTaskExit& exit, absl::Time now) {
  LocalTask* local_task = FindLocalTask(a, agent);
  if (local_task == nullptr || local_task->exited) return {};
  local_task->exit_code = exit.exit_code;
  local_task->signal = exit.signal;
  local_task->message = exit.message;
  // It ran even if its start was not reported: its peers must not wait for the report.
  if (!exit.start_failed) local_task->started = true;
  const bool failed = exit.exit_code != 0 || exit.signal != 0 || exit.start_failed;
  if (exit.system_failure) {
    return EndLocalTask(a, *local_task, failed ? ExitReason::kNodeLost : ExitReason::kNone, now);
  }
  // While the allocation is being stopped, a failed exit is expected. A task that acknowledged its
  // preemption has saved what it needs; many scripts then exit as after an interruption.
  const bool acknowledged = a.preemption_acked && !exit.start_failed;
  const bool expected = a.state == AllocationState::kStopping || acknowledged;
  if (failed && expected && !a.exit_code) a.exit_code = exit.exit_code;
  return EndLocalTask(a, *local_task, failed && !expected ? ExitReason::kFailed : ExitReason::kNone,
                      now);
}

AllocationActions OnAgentLost(Allocation& a, const model::AgentId& agent, absl::Time now) {
  LocalTask* local_task = FindLocalTask(a, agent);
  if (local_task == nullptr || local_task->exited) return {};
  local_task->message = "the agent was lost";
  return EndLocalTask(a, *local_task, ExitReason::kNodeLost, now);
}

AllocationActions Preempt(Allocation& a, const std::string& reason, absl::Duration timeout,
                          absl::Time now) {
  AllocationActions actions;
  if (!Move(a, AllocationEvent::kPreempt)) return actions;
  a.preemption_reason = reason;
  a.deadline = now + timeout;
  actions.notify_preempt = true;
  actions.set_timer = a.deadline;
  return actions;
}

bool AckPreemption(Allocation& a) {
  if (a.state != AllocationState::kPreempting || a.preemption_acked) return false;
  a.preemption_acked = true;
  return true;
}

AllocationActions Stop(Allocation& a, absl::Duration grace, absl::Time now,
                       const std::string& why) {
  AllocationActions actions;
  if (a.state == AllocationState::kQueued) {
    SetFirstFailure(a, ExitReason::kStopped, why);
    Terminate(a, now);
    actions.terminated = true;
    return actions;
  }
  if (!Move(a, AllocationEvent::kStop)) return actions;
  SetFirstFailure(a, ExitReason::kStopped, why);
  return StopRest(a, grace, now);
}

AllocationActions OnDeadline(Allocation& a, absl::Duration grace, absl::Time now) {
  if (a.state != AllocationState::kPreempting || !a.deadline || now < *a.deadline) return {};
  return Stop(a, grace, now);
}

}  // namespace det::experiment
