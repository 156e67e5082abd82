#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/core/cluster/parts.h"
#include "master/core/cluster/regenerate.h"

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
  std::vector<model::AllocationId> ids = step.s.slots.On(agent);
  std::erase_if(ids, [&](const model::AllocationId& id) {
    return FindShare(step.s.allocations.at(id), agent)->exited;
  });
  return ids;
}

// The first of the placement's slots that the agent has no more, or has another device for.
std::optional<int> MissingSlot(const model::Agent& before, const model::Agent& after,
                               const model::Placement& placement) {
  const auto find = [](const model::Agent& agent, int id) -> const model::Device* {
    for (const model::Device& device : agent.slots) {
      if (device.id == id) return &device;
    }
    return nullptr;
  };
  for (const int slot : placement.slots) {
    const model::Device* now = find(after, slot);
    const model::Device* then = find(before, slot);
    if (now == nullptr) return slot;
    if (then != nullptr && !then->uuid.empty() && then->uuid != now->uuid) return slot;
  }
  return std::nullopt;
}

// An agent keeps the devices that its tasks run on.
absl::Status CheckDevices(const Step& step, const model::Agent& agent,
                          const std::set<model::AllocationId>& running) {
  const auto before = step.s.agents.find(agent.id);
  if (before == step.s.agents.end()) return absl::OkStatus();
  for (const model::AllocationId& id : AllocationsOn(step, agent.id)) {
    if (!running.contains(id)) continue;
    const Share* share = FindShare(step.s.allocations.at(id), agent.id);
    const std::optional<int> slot = MissingSlot(before->second, agent, share->placement);
    if (!slot) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "agent ", agent.id.value(), " comes back without the device that was its slot ", *slot,
        ", on which ", id.value(),
        " runs; start it with its devices as they were, or end that "
        "task first"));
  }
  return absl::OkStatus();
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
// way, in which case it is ordered again, as long as `now` has their slots.
std::vector<model::AllocationId> Vanished(const Step& step, const model::AgentId& agent,
                                          const model::Agent& now,
                                          const std::set<model::AllocationId>& running) {
  std::vector<model::AllocationId> gone;
  for (const model::AllocationId& id : AllocationsOn(step, agent)) {
    const Share* share = FindShare(step.s.allocations.at(id), agent);
    if (running.contains(id)) continue;
    const bool slots_left = !MissingSlot(step.s.agents.at(agent), now, share->placement);
    if (share->started || !slots_left) gone.push_back(id);
  }
  return gone;
}

void StopStrays(Step& step, const model::AgentId& agent,
                const std::set<model::AllocationId>& running) {
  for (const model::AllocationId& id : running) {
    const auto it = step.s.allocations.find(id);
    const Share* share = it == step.s.allocations.end() ? nullptr : FindShare(it->second, agent);
    if (share != nullptr && !share->exited) continue;
    step.Effect(StopTask{agent, id, absl::ZeroDuration()});
    if (it == step.s.allocations.end() || share != nullptr) continue;
    step.Log(step.s.trials.at(it->second.trial), id, model::LogLevel::kWarning,
             absl::StrCat("agent ", agent.value(), " says that it runs ", id.value(),
                          ", which was not given to it; it is told to stop it"));
  }
}

AddCapacity CapacityOf(const model::Agent& agent, int slots, absl::Time now) {
  return {.agent = agent.id, .resource_pool = agent.resource_pool, .slots = slots, .at = now};
}

}  // namespace

bool IsRow(const model::Agent& agent) { return !agent.resource_pool.empty(); }

model::Agent RowOf(model::Agent agent) {
  agent.connected = false;
  return agent;
}

absl::StatusOr<Outcome> Apply(Step& step, const AgentRegistered& event) {
  const model::AgentId& id = event.agent.id;
  const std::set<model::AllocationId> running(event.running.begin(), event.running.end());
  DET_RETURN_IF_ERROR(CheckDevices(step, event.agent, running));
  model::Agent& agent = step.s.agents[id];
  const std::vector<model::AllocationId> vanished = Vanished(step, id, event.agent, running);
  const model::Agent before = agent;
  agent = event.agent;
  agent.connected = true;
  agent.registered_at = before.id.value().empty() ? step.now : before.registered_at;
  if (!(RowOf(before) == RowOf(agent))) step.Change(PutAgent{RowOf(agent)}), step.Replan();
  if (before.resource_pool != agent.resource_pool || before.slots.size() != agent.slots.size()) {
    step.Change(CapacityOf(agent, static_cast<int>(agent.slots.size()), step.now));
  }
  step.TouchNode(id);
  LoseShares(step, id, vanished);
  StopStrays(step, id, running);
  for (const model::AllocationId& allocation_id : running) {
    const auto it = step.s.allocations.find(allocation_id);
    const Share* share = it == step.s.allocations.end() ? nullptr : FindShare(it->second, id);
    if (share == nullptr || share->started) continue;
    Do(step, it->second, experiment::ShareStarted(it->second, id));
  }
  step.Reschedule();
  // What was ordered while it was away, and the news that waited for its address.
  for (const model::AllocationId& allocation_id : step.s.slots.On(id)) {
    const Allocation& allocation = step.s.allocations.at(allocation_id);
    for (Effect& effect : EffectsOf(step.s, allocation, &id)) step.Effect(std::move(effect));
  }
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const AgentDisconnected& event) {
  const auto it = step.s.agents.find(event.id);
  if (it == step.s.agents.end() || !it->second.connected) return step.Finish();
  it->second.connected = false;
  step.TouchNode(event.id);
  step.Reschedule();
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const AgentLost& event) {
  const auto it = step.s.agents.find(event.id);
  if (it == step.s.agents.end() || it->second.connected) return step.Finish();
  LoseShares(step, event.id, AllocationsOn(step, event.id));
  if (IsRow(it->second)) {
    step.Change(DropAgent{event.id});
    step.Change(CapacityOf(it->second, 0, step.now));
  }
  step.s.agents.erase(event.id);
  step.TouchNode(event.id);
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
