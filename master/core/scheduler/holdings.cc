#include "master/core/scheduler/holdings.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "master/core/scheduler/books.h"
#include "master/core/scheduler/fair_tree.h"

namespace det::scheduler {
namespace {

bool HasSlots(const GangState& gang) { return gang.gang_class->shape.slots > 0; }

// How often the gang's cpus and memory are due for a hold.
int64_t Times(const Shape& shape, const Hold& hold) {
  if (shape.slots == 0) return 1;
  return static_cast<int64_t>(hold.slots.size()) + hold.vanished;
}

// The counts of the node; its place in the indexes follows by PoolState::Refresh.
void CountOnNode(GangState& gang, const Hold& hold, int sign, bool only_leaving) {
  NodeState& node = *hold.node;
  const Shape& shape = gang.gang_class->shape;
  const auto add = [&](Counted& counted, int64_t amount) {
    if (!only_leaving) counted.used += sign * amount;
    if (gang.leaving) counted.leaving += sign * amount;
  };
  for (const int index : hold.slots) {
    SlotState& slot = node.slots[static_cast<size_t>(index)];
    if (!only_leaving) slot.used += sign * shape.fraction;
    if (gang.leaving) slot.leaving += sign * shape.fraction;
  }
  add(node.cpus, Times(shape, hold) * shape.cpus);
  add(node.memory, Times(shape, hold) * shape.memory);
  if (!HasSlots(gang)) add(node.places, 1);
  if (gang.leaving && node.pool != nullptr) node.pool->leaving += sign;
}

void AddOnNode(GangState& gang, const Hold& hold, int sign, bool only_leaving) {
  CountOnNode(gang, hold, sign, only_leaving);
  if (hold.node->pool != nullptr) hold.node->pool->Refresh(*hold.node);
}

void AddToJob(GangState& gang, int sign) {
  JobState& job = *gang.job;
  job.held += sign * gang.held;
  if (gang.leaving) job.leaving += sign * gang.held;
  job.gangs += sign;
  if (job.user != nullptr) job.user->held += sign * gang.held;
  if (job.workspace != nullptr) job.workspace->held += sign * gang.held;
  gang.pool->tree.Use(gang, sign);
}

// Whoever came last mostly goes first.
template <class Gangs>
void EraseFromBack(Gangs& gangs, const GangState* gang) {
  const auto at = std::find(gangs.rbegin(), gangs.rend(), gang);
  gangs.erase(std::next(at).base());
}

bool IsElastic(const GangState& gang) {
  return !gang.fresh && !gang.leaving && gang.slots() < gang.gang_class->shape.max_slots &&
         gang.gang->preemptible;
}

void List(GangState& gang) {
  ListVictim(gang);
  PoolState& pool = *gang.pool;
  if (gang.gang_class->shape.max_run_time != absl::InfiniteDuration()) pool.ending.insert(&gang);
  if (IsElastic(gang)) pool.elastic.insert(&gang);
}

void Unlist(GangState& gang) {
  UnlistVictim(gang);
  PoolState& pool = *gang.pool;
  if (gang.gang_class->shape.max_run_time != absl::InfiniteDuration()) pool.ending.erase(&gang);
  if (IsElastic(gang)) pool.elastic.erase(&gang);
}

}  // namespace

void ListVictim(GangState& gang) {
  if (gang.leaving || gang.fresh || !gang.gang->preemptible) return;
  gang.victim_priority = PriorityOf(gang);
  if (gang.pool->AsksByShare()) {
    gang.pool->tree.ListVictim(gang);
  } else {
    gang.pool->victims.insert(&gang);
  }
}

void UnlistVictim(GangState& gang) {
  if (!gang.victim_priority) return;
  if (gang.pool->AsksByShare()) {
    gang.pool->tree.UnlistVictim(gang);
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

void MarkLeaving(GangState& gang, bool leaving) {
  gang.leaving = true;
  for (const Hold& hold : gang.holds) AddOnNode(gang, hold, leaving ? +1 : -1, true);
  gang.leaving = leaving;
}

void SetLeaving(GangState& gang, bool leaving) {
  Unlist(gang);
  MarkLeaving(gang, leaving);
  gang.job->leaving += leaving ? gang.held : -gang.held;
  gang.pool->tree.Expect(*gang.branch, UsageOf(gang, gang.slots()), leaving ? -1 : +1);
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
