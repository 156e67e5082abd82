#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "master/cluster/regenerate.h"
#include "master/cluster/state.h"

namespace det::cluster {
namespace {

using experiment::Allocation;
using experiment::Share;

const Share* FindShare(const Allocation& a, const model::AgentId& agent) {
  const auto it = std::find_if(a.shares.begin(), a.shares.end(),
                               [&](const Share& s) { return s.placement.agent == agent; });
  return it == a.shares.end() ? nullptr : &*it;
}

// Ids first: ending a share may end allocations and experiments.
std::vector<model::AllocationId> AllocationsOn(const Step& step, const model::AgentId& agent) {
  std::vector<model::AllocationId> ids;
  for (const auto& [id, allocation] : step.s.allocations) {
    const Share* share = FindShare(allocation, agent);
    if (share != nullptr && !share->exited) ids.push_back(id);
  }
  return ids;
}

void LoseShares(Step& step, const model::AgentId& agent,
                const std::vector<model::AllocationId>& ids) {
  for (const model::AllocationId& id : ids) {
    const auto it = step.s.allocations.find(id);
    if (it == step.s.allocations.end()) continue;
    Do(step, it->second, experiment::AgentLost(it->second, agent, step.now));
  }
}

// Shares that we believe started there and that are gone; unless their start may still be on its
// way, in which case it is ordered again.
std::vector<model::AllocationId> Vanished(const Step& step, const model::AgentId& agent,
                                          const std::set<model::AllocationId>& running) {
  std::vector<model::AllocationId> gone;
  for (const model::AllocationId& id : AllocationsOn(step, agent)) {
    const Share* share = FindShare(step.s.allocations.at(id), agent);
    if (share->started && !running.contains(id)) gone.push_back(id);
  }
  return gone;
}

void StopStrays(Step& step, const model::AgentId& agent,
                const std::set<model::AllocationId>& running) {
  for (const model::AllocationId& id : running) {
    const auto it = step.s.allocations.find(id);
    const Share* share = it == step.s.allocations.end() ? nullptr : FindShare(it->second, agent);
    if (share == nullptr || share->exited) {
      step.Effect(StopTask{agent, id, absl::ZeroDuration()});
    }
  }
}

}  // namespace

absl::StatusOr<Outcome> Apply(Step& step, const AgentRegistered& event) {
  const model::AgentId& id = event.agent.id;
  model::Agent& agent = step.s.agents[id];
  const absl::Time first_seen = agent.id.value().empty() ? step.now : agent.registered_at;
  agent = event.agent;
  agent.connected = true;
  agent.registered_at = first_seen;
  const std::set<model::AllocationId> running(event.running.begin(), event.running.end());
  LoseShares(step, id, Vanished(step, id, running));
  StopStrays(step, id, running);
  for (const model::AllocationId& allocation_id : running) {
    const auto it = step.s.allocations.find(allocation_id);
    const Share* share = it == step.s.allocations.end() ? nullptr : FindShare(it->second, id);
    if (share == nullptr || share->started) continue;
    Do(step, it->second, experiment::ShareStarted(it->second, id));
  }
  step.Reschedule();
  // What was ordered while it was away, and the news that waited for its address.
  for (const auto& [allocation_id, allocation] : step.s.allocations) {
    if (FindShare(allocation, id) == nullptr) continue;
    for (Effect& effect : EffectsOf(step.s, allocation, &id)) step.Effect(std::move(effect));
  }
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const AgentDisconnected& event) {
  const auto it = step.s.agents.find(event.id);
  if (it == step.s.agents.end() || !it->second.connected) return step.Finish();
  it->second.connected = false;
  step.Reschedule();
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const AgentLost& event) {
  const auto it = step.s.agents.find(event.id);
  if (it == step.s.agents.end() || it->second.connected) return step.Finish();
  LoseShares(step, event.id, AllocationsOn(step, event.id));
  step.s.agents.erase(event.id);
  step.Reschedule();
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const ShareStarted& event) {
  const auto it = step.s.allocations.find(event.allocation);
  if (it == step.s.allocations.end()) return step.Finish();
  const Share* share = FindShare(it->second, event.agent);
  if (share == nullptr || share->started || share->exited) return step.Finish();
  Do(step, it->second, experiment::ShareStarted(it->second, event.agent));
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const ShareExited& event) {
  const auto it = step.s.allocations.find(event.allocation);
  if (it == step.s.allocations.end()) return step.Finish();
  const Share* share = FindShare(it->second, event.agent);
  if (share == nullptr || share->exited) return step.Finish();
  Do(step, it->second,
     experiment::ShareExited(it->second, event.agent,
                             {.exit_code = event.exit_code,
                              .signal = event.signal,
                              .message = event.message,
                              .start_failed = event.start_failed},
                             step.now));
  // Its slots are free, even if others of the gang still hold theirs.
  step.Reschedule();
  return step.Finish();
}

}  // namespace det::cluster
