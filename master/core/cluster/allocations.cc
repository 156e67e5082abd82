#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "master/core/cluster/mirror.h"
#include "master/core/cluster/parts.h"
#include "master/core/cluster/regenerate.h"

namespace det::cluster {
namespace {

using experiment::Allocation;
using experiment::AllocationActions;
using experiment::Share;

// By fractions of slots, and what an elastic one got.
double HeldBy(const Allocation& a) { return a.granted * a.fraction; }

void StartShares(Step& step, const Allocation& a) {
  std::vector<std::string> places;
  for (const Share& share : a.shares) {
    step.Effect(StartTask{share.placement.agent, MakeTaskSpec(step.s, a, share)});
    places.push_back(absl::StrCat(share.placement.agent.value(), " (",
                                  absl::StrJoin(share.placement.slots, ", "), ")"));
  }
  const experiment::Trial& trial = step.s.trials.at(a.trial);
  step.Log(trial, a.id, model::LogLevel::kInfo,
           absl::StrCat("run ", a.run_id, " got ", HeldBy(a),
                        a.granted == 1 ? " slot on " : " slots on ", absl::StrJoin(places, ", ")));
  const experiment::Experiment& e = step.EntryOf(trial).experiment;
  step.s.slot_time.Begin(a.id, experiment::OwnerName(e), e.config->workspace, HeldBy(a),
                         *a.started_at);
  const absl::Time due = DeadlineOf(step.s, a);
  if (due != absl::InfiniteFuture()) step.Effect(SetDeadline{a.id, due});
}

const std::string& WhyEnded(const Allocation& a) {
  return a.exit_message.empty() ? a.preemption_reason : a.exit_message;
}

void OnTerminated(Step& step, Allocation& a) {
  step.Effect(CloseAllocation{a.id});
  step.Reschedule();
  experiment::Trial& trial = step.s.trials.at(a.trial);
  if (a.started_at) {
    step.s.slot_time.End(a.id, *a.ended_at);
    trial.run_time += *a.ended_at - *a.started_at;
    step.Touch(trial);
  }
  NoteHardware(step, a, trial);
  if (trial.allocation != a.id) return;
  const int max_restarts = step.EntryOf(trial).experiment.config->max_restarts;
  const int before = trial.restarts;
  const experiment::TrialActions actions =
      experiment::OnRunEnded(trial, a.exit_reason, WhyEnded(a), max_restarts, step.now);
  if (trial.restarts > before) {
    step.Log(trial, a.id, model::LogLevel::kWarning,
             absl::StrCat("restart ", trial.restarts, " of ", max_restarts, ": ", trial.reason));
  } else if (actions.new_run) {
    step.Log(trial, a.id, model::LogLevel::kInfo,
             absl::StrCat("run ", a.run_id, " ended (", std::string(model::ToString(a.exit_reason)),
                          WhyEnded(a).empty() ? "" : ": ", WhyEnded(a),
                          "); the trial goes back to the queue"));
  }
  Do(step, trial, actions);
  StartChildren(step, trial);
}

}  // namespace

std::string TimeIsOver(const Entry& entry) {
  const auto limit = absl::Seconds(*entry.experiment.config->resources.max_run_time);
  return absl::StrCat("its max_run_time of ", absl::FormatDuration(limit), " is over");
}

std::vector<RendezvousNode> NodesOf(const Cluster::State& state, const Allocation& a) {
  std::vector<RendezvousNode> nodes;
  for (const Share& share : a.shares) {
    const auto agent = state.agents.find(share.placement.agent);
    // Its address comes with its registration; the news is sent then.
    if (agent == state.agents.end() || agent->second.address.empty()) return {};
    nodes.push_back({share.placement.agent, agent->second.address,
                     static_cast<int>(share.placement.slots.size())});
  }
  return nodes;
}

void Do(Step& step, Allocation& a, const AllocationActions& actions) {
  step.Touch(a);
  if (actions.start_shares) StartShares(step, a);
  if (actions.announce) {
    std::vector<RendezvousNode> nodes = NodesOf(step.s, a);
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
  experiment::Trial& trial = step.s.trials.at(a.trial);
  const absl::Duration timeout = TimeToSave(step.s, a, step.now);
  const AllocationActions actions = experiment::Preempt(a, reason, timeout, step.now);
  if (!actions.notify_preempt) return;
  step.Log(trial, a.id, model::LogLevel::kInfo,
           absl::StrCat("run ", a.run_id, " is asked to save and go within ",
                        absl::FormatDuration(timeout), ": ", reason));
  Do(step, a, actions);
}

absl::StatusOr<Outcome> Apply(Step& step, const AllocationDeadline& event) {
  const auto it = step.s.allocations.find(event.id);
  if (it == step.s.allocations.end()) return step.Finish();
  // Early, by a clock that was set back or runs slower than the timer: the rest is waited for.
  if (const absl::Time due = DeadlineOf(step.s, it->second);
      step.now < due && due != absl::InfiniteFuture()) {
    step.Effect(SetDeadline{event.id, due});
    return step.Finish();
  }
  experiment::Trial& trial = step.s.trials.at(it->second.trial);
  if (it->second.started_at && *it->second.started_at + WorkLeft(step.s, trial) <= step.now) {
    Do(step, trial, experiment::TimeOver(trial, TimeIsOver(step.EntryOf(trial)), step.now));
    // One that was on its way out already keeps to its own deadline.
  }
  const absl::Duration grace = std::clamp(EndOfTime(step.s, it->second) - step.now,
                                          absl::ZeroDuration(), step.s.settings.stop_grace);
  const AllocationActions actions = experiment::OnDeadline(it->second, grace, step.now);
  if (actions.stop.empty()) return step.Finish();
  step.Log(trial, event.id, model::LogLevel::kWarning,
           "the trial did not save and exit in time after it was preempted; stopping it");
  Do(step, it->second, actions);
  return step.Finish();
}

}  // namespace det::cluster
