#include "master/core/cluster/regenerate.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/time/time.h"
#include "master/core/cluster/handlers.h"
#include "master/core/cluster/scheduler_input.h"

namespace det::cluster {
namespace {

using experiment::Allocation;
using experiment::LocalTask;
using model::AllocationState;

// The grace period of a stop that may have been sent before: most of its grace period has passed.
constexpr absl::Duration kRepeatedStopGrace = absl::Seconds(2);

}  // namespace

std::vector<Effect> ComputeEffects(const Cluster::State& state, const Allocation& a,
                                   const model::AgentId* agent) {
  std::vector<Effect> effects;
  if (a.local_tasks.empty() || a.state == AllocationState::kTerminated) return effects;
  for (const LocalTask& local_task : a.local_tasks) {
    if (local_task.exited || (agent != nullptr && local_task.placement.agent != *agent)) continue;
    if (a.state == AllocationState::kStopping) {
      effects.push_back(StopTask{local_task.placement.agent, a.id, kRepeatedStopGrace});
    } else if (!local_task.started) {
      effects.push_back(StartTask{local_task.placement.agent, MakeTaskSpec(state, a, local_task)});
    }
  }
  const bool all_started =
      std::all_of(a.local_tasks.begin(), a.local_tasks.end(),
                  [](const LocalTask& local_task) { return local_task.started; });
  if (all_started && a.state != AllocationState::kStopping) {
    std::vector<RendezvousNode> nodes = GetRendezvousNodes(state, a);
    if (!nodes.empty()) effects.push_back(AnnounceRendezvous{a.id, std::move(nodes)});
  }
  if (a.state == AllocationState::kPreempting) {
    effects.push_back(AnnouncePreemption{a.id, a.preemption_reason, *a.deadline});
  }
  const absl::Time due = ComputeDeadline(state, a);
  if (due != absl::InfiniteFuture()) effects.push_back(SetDeadline{a.id, due});
  return effects;
}

absl::Time ComputeDeadline(const Cluster::State& state, const Allocation& a) {
  if (a.state == AllocationState::kPreempting) return *a.deadline;
  if (a.state == AllocationState::kStopping || !a.started_at) return absl::InfiniteFuture();
  // A task that is not a trial has nothing to save before its end.
  if (!experiment::IsTrial(a)) return GetRunTimeEnd(state, a);
  return *a.started_at + GetRemainingWorkTime(state, state.trials.at(a.trial));
}

absl::Duration GetPreemptionGrace(const Cluster::State& s, const Allocation& a, absl::Time now) {
  if (!experiment::IsTrial(a)) {
    return absl::Seconds(s.tasks.at(a.task).definition->preemption_timeout_seconds);
  }
  const model::ExperimentConfig& config =
      *s.experiments.at(s.trials.at(a.trial).experiment).experiment.config;
  const absl::Time stop_at =
      GetRunTimeEnd(s, a) - std::min(s.settings.stop_grace, GetReleaseLeadTime(s, config) / 2);
  return std::min(absl::Seconds(config.preemption_timeout_seconds),
                  std::max(stop_at - now, absl::ZeroDuration()));
}

std::vector<Effect> Cluster::Regenerate() const {
  std::vector<Effect> effects;
  for (const auto& [id, allocation] : state_->allocations) {
    std::vector<Effect> of = ComputeEffects(*state_, allocation, nullptr);
    std::move(of.begin(), of.end(), std::back_inserter(effects));
  }
  effects.push_back(ScheduleSoon{});
  effects.push_back(CollectGarbageSoon{});
  effects.push_back(DeliverWebhooksSoon{});
  const auto planned = [](const auto& of) { return !of.second.maintenance.empty(); };
  const auto monthly = [](const model::Quota& quota) { return quota.slot_hours.has_value(); };
  const std::vector<model::Quota> quotas = Quotas(*state_);
  if (std::any_of(state_->agent_states.begin(), state_->agent_states.end(), planned) ||
      std::any_of(quotas.begin(), quotas.end(), monthly)) {
    // Immediately, because the current time is unknown here.
    effects.push_back(SetCalendarTimer{absl::InfinitePast()});
  }
  return effects;
}

std::vector<Effect> Cluster::Regenerate(const model::AgentId& agent) const {
  std::vector<Effect> effects;
  for (const auto& [id, allocation] : state_->allocations) {
    const bool concerned = std::any_of(
        allocation.local_tasks.begin(), allocation.local_tasks.end(),
        [&](const LocalTask& local_task) { return local_task.placement.agent == agent; });
    if (!concerned) continue;
    std::vector<Effect> of = ComputeEffects(*state_, allocation, &agent);
    std::move(of.begin(), of.end(), std::back_inserter(effects));
  }
  return effects;
}

}  // namespace det::cluster
