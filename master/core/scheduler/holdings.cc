#include "master/core/scheduler/holdings.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "master/core/scheduler/fair_tree.h"
#include "master/core/scheduler/registry.h"

namespace det::scheduler {
namespace {

bool HasSlots(const GangState& gang) { return gang.gang_class->shape.slots > 0; }

// How many times the gang's cpus and memory count for a hold.
int64_t Times(const Shape& shape, const Hold& hold) {
  if (shape.slots == 0) return 1;
  return static_cast<int64_t>(hold.slots.size()) + hold.vanished;
}

// Updates the counts of the node; PoolState::Refresh updates the indexes.
void CountOnNode(GangState& gang, const Hold& hold, int sign, bool only_leaving) {
  NodeState& node = *hold.node;
  const Shape& shape = gang.gang_class->shape;
  const auto add = [&](Counted& counted, int64_t amount) {
    if (!only_leaving) counted.used += sign * amount;
    if (gang.terminating) counted.terminating += sign * amount;
  };
  for (const int index : hold.slots) {
    SlotState& slot = node.slots[static_cast<size_t>(index)];
    if (!only_leaving) slot.used += sign * shape.fraction;
    if (gang.terminating) slot.terminating += sign * shape.fraction;
  }
  add(node.cpus, Times(shape, hold) * shape.cpus);
  add(node.memory, Times(shape, hold) * shape.memory);
  if (!HasSlots(gang)) add(node.places, 1);
  if (gang.terminating && node.pool != nullptr) node.pool->terminating += sign;
}

void AddOnNode(GangState& gang, const Hold& hold, int sign, bool only_leaving) {
  CountOnNode(gang, hold, sign, only_leaving);
  if (hold.node->pool != nullptr) hold.node->pool->Refresh(*hold.node);
}

void AddToJob(GangState& gang, int sign) {
  JobState& job = *gang.job;
  job.held += sign * gang.held;
  if (gang.terminating) job.terminating += sign * gang.held;
  job.gangs += sign;
  if (job.user != nullptr) job.user->held += sign * gang.held;
  if (job.workspace != nullptr) job.workspace->held += sign * gang.held;
  gang.pool->tree.UpdateUsage(gang, sign);
}

// Searches from the end: the newest gang is usually removed first.
template <class Gangs>
void EraseFromBack(Gangs& gangs, const GangState* gang) {
  const auto at = std::find(gangs.rbegin(), gangs.rend(), gang);
  gangs.erase(std::next(at).base());
}

bool IsElastic(const GangState& gang) {
  return !gang.fresh && !gang.terminating && gang.slots() < gang.gang_class->shape.max_slots &&
         gang.gang->preemptible;
}

void List(GangState& gang) {
  AddVictim(gang);
  PoolState& pool = *gang.pool;
  if (gang.gang_class->shape.max_run_time != absl::InfiniteDuration()) pool.ending.insert(&gang);
  if (IsElastic(gang)) pool.elastic.insert(&gang);
}

void Unlist(GangState& gang) {
  RemoveVictim(gang);
  PoolState& pool = *gang.pool;
  if (gang.gang_class->shape.max_run_time != absl::InfiniteDuration()) pool.ending.erase(&gang);
  if (IsElastic(gang)) pool.elastic.erase(&gang);
}

}  // namespace

void AddVictim(GangState& gang) {
  if (gang.terminating || gang.fresh || !gang.gang->preemptible) return;
  gang.victim_priority = GetPriority(gang);
  if (gang.pool->PreemptsByShare()) {
    gang.pool->tree.AddVictim(gang);
  } else {
    gang.pool->victims.insert(&gang);
  }
}

void RemoveVictim(GangState& gang) {
  if (!gang.victim_priority) return;
  if (gang.pool->PreemptsByShare()) {
    gang.pool->tree.RemoveVictim(gang);
  } else {
    gang.pool->victims.erase(&gang);
  }
  gang.victim_priority.reset();
}

void Occupy(GangState& gang, std::vector<Hold> holds) {
  gang.holds = std::move(holds);
  gang.running = true;
  gang.held = gang.slots() * gang.gang_class->shape.fraction;
  for (const Hold& hold : gang.holds) {
    hold.node->gangs.push_back(&gang);
    AddOnNode(gang, hold, +1, /*only_leaving=*/false);
  }
  gang.job->running.push_back(&gang);
  AddToJob(gang, +1);
  List(gang);
}

void Vacate(GangState& gang) {
  GangState* one = &gang;
  VacateAll({&one, 1});
}

void VacateAll(absl::Span<GangState* const> all) {
  absl::InlinedVector<NodeState*, 8> nodes;
  for (GangState* gang : all) {
    Unlist(*gang);
    AddToJob(*gang, -1);
    EraseFromBack(gang->job->running, gang);
    for (const Hold& hold : gang->holds) {
      EraseFromBack(hold.node->gangs, gang);
      CountOnNode(*gang, hold, -1, /*only_leaving=*/false);
      if (!std::exchange(hold.node->to_refresh, true)) nodes.push_back(hold.node);
    }
    gang->holds.clear();
    gang->running = false;
    gang->held = 0;
  }
  for (NodeState* node : nodes) {
    node->to_refresh = false;
    if (node->pool != nullptr) node->pool->Refresh(*node);
  }
}

void MarkTerminating(GangState& gang, bool terminating) {
  gang.terminating = true;
  for (const Hold& hold : gang.holds) AddOnNode(gang, hold, terminating ? +1 : -1, true);
  gang.terminating = terminating;
}

void SetTerminating(GangState& gang, bool terminating) {
  Unlist(gang);
  MarkTerminating(gang, terminating);
  gang.job->terminating += terminating ? gang.held : -gang.held;
  gang.pool->tree.UpdateExpected(*gang.branch, ComputeUsage(gang, gang.slots()),
                                 terminating ? -1 : +1);
  List(gang);
}

void Claim(const GangClass& c, const Hold& hold) {
  NodeState& node = *hold.node;
  for (const int slot : hold.slots) node.slots[static_cast<size_t>(slot)].claimed = true;
  node.cpus.claimed += Times(c.shape, hold) * c.shape.cpus;
  node.memory.claimed += Times(c.shape, hold) * c.shape.memory;
  if (c.shape.slots == 0) ++node.places.claimed;
  c.pool->Refresh(node);
}

void Unclaim(const GangClass& c, const Hold& hold) {
  NodeState& node = *hold.node;
  for (const int slot : hold.slots) node.slots[static_cast<size_t>(slot)].claimed = false;
  node.cpus.claimed -= Times(c.shape, hold) * c.shape.cpus;
  node.memory.claimed -= Times(c.shape, hold) * c.shape.memory;
  if (c.shape.slots == 0) --node.places.claimed;
  c.pool->Refresh(node);
}

}  // namespace det::scheduler
