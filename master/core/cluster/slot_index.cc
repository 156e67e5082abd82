#include "master/core/cluster/slot_index.h"

#include <algorithm>
#include <utility>

namespace det::cluster {
namespace {

// Slots are counted in millionths, rounded down, as in the scheduler: what fits there fits here.
constexpr int64_t kParts = 1'000'000;

int64_t ToParts(double fraction) {
  if (fraction >= 1) return kParts;
  return std::max<int64_t>(1, static_cast<int64_t>(fraction * kParts + 1e-6));
}

}  // namespace

void SlotIndex::Put(const experiment::Allocation& allocation) {
  Remove(allocation.id);
  if (allocation.local_tasks.empty()) return;
  Held held{.on = {}, .machines = {}, .parts = ToParts(allocation.fraction)};
  for (const experiment::LocalTask& local_task : allocation.local_tasks) {
    const model::AgentId& agent = local_task.placement.agent;
    Machine& machine = machines_[agent];
    machine.allocations.insert(allocation.id);
    held.machines.push_back(agent);
    if (local_task.exited) continue;
    for (const int slot : local_task.placement.slots) machine.used[slot] += held.parts;
    held.on.push_back(local_task.placement);
  }
  held_.emplace(allocation.id, std::move(held));
}

void SlotIndex::Remove(const model::AllocationId& id) {
  const auto it = held_.find(id);
  if (it == held_.end()) return;
  for (const model::Placement& placement : it->second.on) {
    Machine& machine = machines_.at(placement.agent);
    for (const int slot : placement.slots) {
      int64_t& used = machine.used[slot];
      used -= it->second.parts;
      if (used <= 0) machine.used.erase(slot);
    }
  }
  for (const model::AgentId& agent : it->second.machines) {
    Machine& machine = machines_.at(agent);
    machine.allocations.erase(id);
    if (machine.allocations.empty()) machines_.erase(agent);
  }
  held_.erase(it);
}

std::vector<model::AllocationId> SlotIndex::On(const model::AgentId& agent) const {
  const auto it = machines_.find(agent);
  if (it == machines_.end()) return {};
  return {it->second.allocations.begin(), it->second.allocations.end()};
}

bool SlotIndex::HasRoom(const model::Placement& placement, double fraction) const {
  const auto machine = machines_.find(placement.agent);
  if (machine == machines_.end()) return true;
  for (const int slot : placement.slots) {
    const auto used = machine->second.used.find(slot);
    if (used != machine->second.used.end() && used->second + ToParts(fraction) > kParts) {
      return false;
    }
  }
  return true;
}

}  // namespace det::cluster
