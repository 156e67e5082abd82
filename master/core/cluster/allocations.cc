#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "master/core/cluster/handlers.h"
#include "master/core/cluster/regenerate.h"
#include "master/core/cluster/scheduler_input.h"

namespace det::cluster {
namespace {

using experiment::Allocation;
using experiment::AllocationActions;
using experiment::LocalTask;

// Returns the slots that the allocation holds; a fraction counts as such.
double GetHeldSlots(const Allocation& a) { return a.granted * a.fraction; }

void StartLocalTasks(Step& step, const Allocation& a) {
  std::vector<std::string> places;
  for (const LocalTask& local_task : a.local_tasks) {
    step.Effect(StartTask{local_task.placement.agent, MakeTaskSpec(step.s, a, local_task)});
    const std::string slots = absl::StrJoin(local_task.placement.slots, ", ");
    places.push_back(absl::StrCat(local_task.placement.agent.value(), slots.empty() ? "" : " (",
                                  slots, slots.empty() ? "" : ")"));
  }
  // Existing scripts look for the first part in the log.
  const std::string first =
      experiment::IsTrial(a)
          ? absl::StrCat("New trial runner in (container ", a.id.value(), ") on agent ",
                         a.local_tasks.front().placement.agent.value())
          : absl::StrCat(step.s.tasks.at(a.task).definition->description,
                         " was assigned to an agent");
  step.Log(a, model::LogLevel::kInfo,
           absl::StrCat(first, ": run ", a.run_id, " got ", GetHeldSlots(a),
                        a.granted == 1 ? " slot on " : " slots on ", absl::StrJoin(places, ", ")));
  const QueueMember member = GetMember(step.s, a);
  step.s.slot_time.Begin(a.id, member.user, member.workspace, GetHeldSlots(a), *a.started_at);
  const absl::Time due = ComputeDeadline(step.s, a);
  if (due != absl::InfiniteFuture()) step.Effect(SetDeadline{a.id, due});
}

const std::string& GetExitText(const Allocation& a) {
  return a.exit_message.empty() ? a.preemption_reason : a.exit_message;
}

// Existing scripts look for these lines in the log of a task.
void LogExit(Step& step, const Allocation& a) {
  if (!a.exit_code) return;
  const bool well = *a.exit_code == 0;
  step.Log(a, well ? model::LogLevel::kInfo : model::LogLevel::kError,
           well ? "resources exited successfully with a zero exit code"
                : absl::StrCat("resources failed with non-zero exit code: container failed with "
                               "non-zero exit code: ",
                               *a.exit_code));
}

void OnTerminated(Step& step, Allocation& a) {
  step.Effect(CloseAllocation{a.id});
  step.Reschedule();
  if (a.started_at) step.s.slot_time.End(a.id, *a.ended_at);
  LogExit(step, a);
  RecordHardwareOutcome(step, a);
  if (!experiment::IsTrial(a)) return OnAttemptEnded(step, step.s.tasks.at(a.task), a);
  experiment::Trial& trial = step.s.trials.at(a.trial);
  if (a.started_at) {
    trial.run_time += *a.ended_at - *a.started_at;
    step.Touch(trial);
  }
  if (trial.allocation != a.id) return;
  const int max_restarts = step.GetEntry(trial).experiment.config->max_restarts;
  const int before = trial.restarts;
  const experiment::TrialActions actions =
      experiment::OnAttemptEnded(trial, a.exit_reason, GetExitText(a), max_restarts, step.now);
  if (trial.restarts > before) {
    step.Log(trial, a.id, model::LogLevel::kWarning,
             absl::StrCat("restart ", trial.restarts, " of ", max_restarts, ": ", trial.reason));
  } else if (actions.new_attempt) {
    step.Log(trial, a.id, model::LogLevel::kInfo,
             absl::StrCat("run ", a.run_id, " ended (", std::string(model::ToString(a.exit_reason)),
                          GetExitText(a).empty() ? "" : ": ", GetExitText(a),
                          "); the trial is queued again"));
  }
  ApplyActions(step, trial, actions);
  StartChildren(step, trial);
}

}  // namespace

std::string DescribeRunTimeLimit(const model::ResourcesConfig& resources) {
  const auto limit = absl::Seconds(*resources.max_run_time);
  return absl::StrCat("its max_run_time of ", absl::FormatDuration(limit), " is over");
}

std::vector<RendezvousNode> GetRendezvousNodes(const Cluster::State& state, const Allocation& a) {
  std::vector<RendezvousNode> nodes;
  for (const LocalTask& local_task : a.local_tasks) {
    const auto agent = state.agents.find(local_task.placement.agent);
    // The rendezvous is announced when the agent registers with its address.
    if (agent == state.agents.end() || agent->second.address.empty()) return {};
    nodes.push_back({local_task.placement.agent, agent->second.address,
                     static_cast<int>(local_task.placement.slots.size())});
  }
  return nodes;
}

void ApplyActions(Step& step, Allocation& a, const AllocationActions& actions) {
  step.Touch(a);
  if (actions.start_local_tasks) StartLocalTasks(step, a);
  if (actions.announce) {
    std::vector<RendezvousNode> nodes = GetRendezvousNodes(step.s, a);
    if (!nodes.empty()) step.Effect(AnnounceRendezvous{a.id, std::move(nodes)});
  }
  if (actions.notify_preempt) {
    step.Effect(AnnouncePreemption{a.id, a.preemption_reason, *a.deadline});
  }
  if (actions.set_timer) step.Effect(SetDeadline{a.id, *actions.set_timer});
  for (const model::AgentId& agent : actions.stop) {
    step.Effect(StopTask{agent, a.id, actions.grace});
  }
  if (actions.terminated) OnTerminated(step, a);
}

void Preempt(Step& step, Allocation& a, const std::string& reason) {
  const absl::Duration timeout = GetPreemptionGrace(step.s, a, step.now);
  const AllocationActions actions = experiment::Preempt(a, reason, timeout, step.now);
  if (!actions.notify_preempt) return;
  step.Log(a, model::LogLevel::kInfo,
           absl::StrCat("run ", a.run_id, " is preempted and must checkpoint and exit within ",
                        absl::FormatDuration(timeout), ": ", reason));
  ApplyActions(step, a, actions);
}

absl::StatusOr<Outcome> Apply(Step& step, const AllocationDeadline& event) {
  const auto it = step.s.allocations.find(event.id);
  if (it == step.s.allocations.end()) return step.Finish();
  // Too early, because the clock was set back or is slower than the timer: wait for the rest.
  if (const absl::Time due = ComputeDeadline(step.s, it->second);
      step.now < due && due != absl::InfiniteFuture()) {
    step.Effect(SetDeadline{event.id, due});
    return step.Finish();
  }
  if (!experiment::IsTrial(it->second)) {
    experiment::Task& task = step.s.tasks.at(it->second.task);
    if (GetRunTimeEnd(step.s, it->second) <= step.now) {
      ApplyActions(step, task,
                   experiment::Kill(task, DescribeRunTimeLimit(task.definition->resources),
                                    step.now));
      return step.Finish();
    }
  } else if (experiment::Trial& trial = step.s.trials.at(it->second.trial);
             it->second.started_at &&
             *it->second.started_at + GetRemainingWorkTime(step.s, trial) <= step.now) {
    const model::ResourcesConfig& resources = step.GetEntry(trial).experiment.config->resources;
    ApplyActions(
        step, trial,
        experiment::OnRunTimeExceeded(trial, DescribeRunTimeLimit(resources), step.now));
    // An allocation that was already terminating keeps its own deadline.
  }
  const absl::Duration grace = std::clamp(GetRunTimeEnd(step.s, it->second) - step.now,
                                          absl::ZeroDuration(), step.s.settings.stop_grace);
  const AllocationActions actions = experiment::OnDeadline(it->second, grace, step.now);
  if (actions.stop.empty()) return step.Finish();
  step.Log(it->second, model::LogLevel::kWarning,
           "the task did not checkpoint and exit in time after it was preempted; stopping it");
  ApplyActions(step, it->second, actions);
  return step.Finish();
}

}  // namespace det::cluster
