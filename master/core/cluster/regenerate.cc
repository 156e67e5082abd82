#include "master/core/cluster/regenerate.h"

#include <algorithm>
#include <iterator>

#include "master/core/cluster/mirror.h"
#include "master/core/cluster/parts.h"

namespace det::cluster {
namespace {

using experiment::Allocation;
using experiment::Share;
using model::AllocationState;

// The grace of a stop that may have been ordered before: what is over by now has had its time.
constexpr absl::Duration kRepeatedStopGrace = absl::Seconds(2);

}  // namespace

std::vector<Effect> EffectsOf(const Cluster::State& state, const Allocation& a,
                              const model::AgentId* agent) {
  std::vector<Effect> effects;
  if (a.shares.empty() || a.state == AllocationState::kTerminated) return effects;
  for (const Share& share : a.shares) {
    if (share.exited || (agent != nullptr && share.placement.agent != *agent)) continue;
    if (a.state == AllocationState::kStopping) {
      effects.push_back(StopTask{share.placement.agent, a.id, kRepeatedStopGrace});
    } else if (!share.started) {
      effects.push_back(StartTask{share.placement.agent, MakeTaskSpec(state, a, share)});
    }
  }
  const bool all_started = std::all_of(a.shares.begin(), a.shares.end(),
                                       [](const Share& share) { return share.started; });
  if (all_started && a.state != AllocationState::kStopping) {
    std::vector<RendezvousNode> nodes = NodesOf(state, a);
    if (!nodes.empty()) effects.push_back(AnnounceRendezvous{a.id, std::move(nodes)});
  }
  if (a.state == AllocationState::kPreempting) {
    effects.push_back(AnnouncePreemption{a.id, a.preemption_reason, *a.deadline});
  }
  const absl::Time due = DeadlineOf(state, a);
  if (due != absl::InfiniteFuture()) effects.push_back(SetDeadline{a.id, due});
  return effects;
}

absl::Time DeadlineOf(const Cluster::State& state, const Allocation& a) {
  if (a.state == AllocationState::kPreempting) return *a.deadline;
  if (a.state == AllocationState::kStopping || !a.started_at) return absl::InfiniteFuture();
  return *a.started_at + WorkLeft(state, state.trials.at(a.trial));
}

absl::Duration TimeToSave(const Cluster::State& s, const Allocation& a, absl::Time now) {
  const model::ExperimentConfig& config =
      *s.experiments.at(s.trials.at(a.trial).experiment).experiment.config;
  const absl::Time stop_at =
      EndOfTime(s, a) - std::min(s.settings.stop_grace, TimeToLeave(s, config) / 2);
  return std::min(absl::Seconds(config.preemption_timeout_seconds),
                  std::max(stop_at - now, absl::ZeroDuration()));
}

std::vector<Effect> Cluster::Regenerate() const {
  std::vector<Effect> effects;
  for (const auto& [id, allocation] : state_->allocations) {
    std::vector<Effect> of = EffectsOf(*state_, allocation, nullptr);
    std::move(of.begin(), of.end(), std::back_inserter(effects));
  }
  effects.push_back(ScheduleSoon{});
  effects.push_back(SweepSoon{});
  effects.push_back(DeliverSoon{});
  const auto planned = [](const auto& of) { return !of.second.maintenance.empty(); };
  const auto monthly = [](const model::Quota& quota) { return quota.slot_hours.has_value(); };
  const std::vector<model::Quota> quotas = Quotas(*state_);
  if (std::any_of(state_->agent_states.begin(), state_->agent_states.end(), planned) ||
      std::any_of(quotas.begin(), quotas.end(), monthly)) {
    // At once: nobody here knows what time it is.
    effects.push_back(SetCalendarTimer{absl::InfinitePast()});
  }
  return effects;
}

std::vector<Effect> Cluster::RegenerateFor(const model::AgentId& agent) const {
  std::vector<Effect> effects;
  for (const auto& [id, allocation] : state_->allocations) {
    const bool concerned =
        std::any_of(allocation.shares.begin(), allocation.shares.end(),
                    [&](const Share& share) { return share.placement.agent == agent; });
    if (!concerned) continue;
    std::vector<Effect> of = EffectsOf(*state_, allocation, &agent);
    std::move(of.begin(), of.end(), std::back_inserter(effects));
  }
  return effects;
}

}  // namespace det::cluster
