#include "master/core/cluster/slot_index.h"

#include <algorithm>
#include <utility>

namespace det::cluster {
namespace {

// Millionths, rounded down: the scheduler counts so, and what it finds room for has room here.
constexpr int64_t kParts = 1'000'000;

int64_t PartsOf(double fraction) {
  if (fraction >= 1) return kParts;
  return std::max<int64_t>(1, static_cast<int64_t>(fraction * kParts + 1e-6));
}

}  // namespace

void SlotIndex::Put(const experiment::Allocation& allocation) {
  Remove(allocation.id);
  if (allocation.shares.empty()) return;
  Held held{.on = {}, .machines = {}, .parts = PartsOf(allocation.fraction)};
  for (const experiment::Share& share : allocation.shares) {
    const model::AgentId& agent = share.placement.agent;
    Machine& machine = machines_[agent];
    machine.allocations.insert(allocation.id);
    held.machines.push_back(agent);
    if (share.exited) continue;
    for (const int slot : share.placement.slots) machine.used[slot] += held.parts;
    held.on.push_back(share.placement);
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
    if (used != machine->second.used.end() && used->second + PartsOf(fraction) > kParts) {
      return false;
    }
  }
  return true;
}

}  // namespace det::cluster
