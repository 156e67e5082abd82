#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/core/cluster/handlers.h"
#include "master/core/cluster/regenerate.h"

namespace det::cluster {
namespace {

using experiment::Allocation;
using experiment::LocalTask;

const LocalTask* FindLocalTask(const Allocation& a, const model::AgentId& agent) {
  const auto it = std::find_if(a.local_tasks.begin(), a.local_tasks.end(),
                               [&](const LocalTask& s) { return s.placement.agent == agent; });
  return it == a.local_tasks.end() ? nullptr : &*it;
}

// Returns ids because ending a local task may remove allocations and experiments.
std::vector<model::AllocationId> ListAllocationsOn(const Step& step, const model::AgentId& agent) {
  std::vector<model::AllocationId> ids = step.s.slots.On(agent);
  std::erase_if(ids, [&](const model::AllocationId& id) {
    return FindLocalTask(step.s.allocations.at(id), agent)->exited;
  });
  return ids;
}

// Returns the first slot of the placement that the agent no longer has or that is another device.
std::optional<int> FindMissingSlot(const model::Agent& before, const model::Agent& after,
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

// An agent must keep the devices that its local tasks use.
absl::Status CheckDevices(const Step& step, const model::Agent& agent,
                          const std::set<model::AllocationId>& running) {
  const auto before = step.s.agents.find(agent.id);
  if (before == step.s.agents.end()) return absl::OkStatus();
  for (const model::AllocationId& id : ListAllocationsOn(step, agent.id)) {
    if (!running.contains(id)) continue;
    const LocalTask* local_task = FindLocalTask(step.s.allocations.at(id), agent.id);
    const std::optional<int> slot = FindMissingSlot(before->second, agent, local_task->placement);
    if (!slot) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("agent ", agent.id.value(), " reconnects without the device of slot ", *slot,
                     ", on which allocation ", id.value(),
                     " runs; start the agent with the same devices, or kill that task first"));
  }
  return absl::OkStatus();
}

void LoseLocalTasks(Step& step, const model::AgentId& agent,
                    const std::vector<model::AllocationId>& ids) {
  for (const model::AllocationId& id : ids) {
    const auto it = step.s.allocations.find(id);
    if (it == step.s.allocations.end()) continue;
    ApplyActions(step, it->second, experiment::OnAgentLost(it->second, agent, step.now));
  }
}

// Returns the allocations whose local task the agent no longer runs. A local task that has not
// started yet is not among them, because its start may still be on its way and is sent again,
// unless the agent (`now`) no longer has its slots.
std::vector<model::AllocationId> FindVanished(const Step& step, const model::AgentId& agent,
                                              const model::Agent& now,
                                              const std::set<model::AllocationId>& running) {
  std::vector<model::AllocationId> vanished;
  for (const model::AllocationId& id : ListAllocationsOn(step, agent)) {
    const LocalTask* local_task = FindLocalTask(step.s.allocations.at(id), agent);
    if (running.contains(id)) continue;
    const bool slots_left = !FindMissingSlot(step.s.agents.at(agent), now, local_task->placement);
    if (local_task->started || !slots_left) vanished.push_back(id);
  }
  return vanished;
}

void StopUnassigned(Step& step, const model::AgentId& agent,
                    const std::set<model::AllocationId>& running) {
  for (const model::AllocationId& id : running) {
    const auto it = step.s.allocations.find(id);
    const LocalTask* local_task =
        it == step.s.allocations.end() ? nullptr : FindLocalTask(it->second, agent);
    if (local_task != nullptr && !local_task->exited) continue;
    step.Effect(StopTask{agent, id, absl::ZeroDuration()});
    if (it == step.s.allocations.end() || local_task != nullptr) continue;
    step.Log(it->second, model::LogLevel::kWarning,
             absl::StrCat("agent ", agent.value(), " reports that it runs ", id.value(),
                          ", which is not assigned to it; stopping it there"));
  }
}

AddCapacity MakeCapacity(const model::Agent& agent, int slots, absl::Time now) {
  return {.agent = agent.id, .resource_pool = agent.resource_pool, .slots = slots, .at = now};
}

}  // namespace

bool HasRow(const model::Agent& agent) { return !agent.resource_pool.empty(); }

model::Agent ToRow(model::Agent agent) {
  agent.connected = false;
  return agent;
}

absl::StatusOr<Outcome> Apply(Step& step, const AgentRegistered& event) {
  const model::AgentId& id = event.agent.id;
  const std::set<model::AllocationId> running(event.running.begin(), event.running.end());
  DET_RETURN_IF_ERROR(CheckDevices(step, event.agent, running));
  model::Agent& agent = step.s.agents[id];
  const std::vector<model::AllocationId> vanished = FindVanished(step, id, event.agent, running);
  const model::Agent before = agent;
  agent = event.agent;
  agent.connected = true;
  agent.registered_at = before.id.value().empty() ? step.now : before.registered_at;
  if (!(ToRow(before) == ToRow(agent))) {
    step.Change(PutAgent{ToRow(agent)});
    step.Replan();
  }
  if (before.resource_pool != agent.resource_pool || before.slots.size() != agent.slots.size()) {
    step.Change(MakeCapacity(agent, static_cast<int>(agent.slots.size()), step.now));
  }
  step.TouchNode(id);
  LoseLocalTasks(step, id, vanished);
  StopUnassigned(step, id, running);
  for (const model::AllocationId& allocation_id : running) {
    const auto it = step.s.allocations.find(allocation_id);
    const LocalTask* local_task =
        it == step.s.allocations.end() ? nullptr : FindLocalTask(it->second, id);
    if (local_task == nullptr || local_task->started) continue;
    ApplyActions(step, it->second, experiment::OnLocalTaskStarted(it->second, id));
  }
  step.Reschedule();
  // Commands that were issued while it was away, and rendezvous that waited for its address.
  for (const model::AllocationId& allocation_id : step.s.slots.On(id)) {
    const Allocation& allocation = step.s.allocations.at(allocation_id);
    for (Effect& effect : ComputeEffects(step.s, allocation, &id)) step.Effect(std::move(effect));
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
  LoseLocalTasks(step, event.id, ListAllocationsOn(step, event.id));
  if (HasRow(it->second)) {
    step.Change(DropAgent{event.id});
    step.Change(MakeCapacity(it->second, 0, step.now));
  }
  step.s.agents.erase(event.id);
  step.TouchNode(event.id);
  step.Reschedule();
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const LocalTaskStarted& event) {
  const auto it = step.s.allocations.find(event.allocation);
  if (it == step.s.allocations.end()) return step.Finish();
  const LocalTask* local_task = FindLocalTask(it->second, event.agent);
  if (local_task == nullptr || local_task->started || local_task->exited) return step.Finish();
  ApplyActions(step, it->second, experiment::OnLocalTaskStarted(it->second, event.agent));
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const LocalTaskExited& event) {
  const auto it = step.s.allocations.find(event.allocation);
  if (it == step.s.allocations.end()) return step.Finish();
  const LocalTask* local_task = FindLocalTask(it->second, event.agent);
  if (local_task == nullptr || local_task->exited) return step.Finish();
  ApplyActions(step, it->second,
               experiment::OnLocalTaskExited(it->second, event.agent,
                                             {.exit_code = event.exit_code,
                                              .signal = event.signal,
                                              .message = event.message,
                                              .start_failed = event.start_failed,
                                              .system_failure = event.system_failure},
                                             step.now));
  // Its slots are free even if other local tasks of the gang still hold theirs.
  step.Reschedule();
  return step.Finish();
}

}  // namespace det::cluster
