#include "master/core/scheduler/registry.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "master/core/scheduler/holdings.h"

namespace det::scheduler {
namespace {

// Whether the nodes differ only in whether they accept work and which slots are enabled.
bool SameShape(const Node& a, const Node& b) {
  const auto same = [](const Slot& x, const Slot& y) {
    return x.id == y.id && x.type == y.type && x.model == y.model && x.island == y.island;
  };
  return a.resource_pool == b.resource_pool && a.aux == b.aux && a.cpus == b.cpus &&
         a.memory == b.memory && a.network_switch == b.network_switch &&
         a.maintenance == b.maintenance &&
         std::equal(a.slots.begin(), a.slots.end(), b.slots.begin(), b.slots.end(), same);
}

// Sorts the slots by id and removes duplicates.
bool AreSorted(const std::vector<Slot>& slots) {
  return std::adjacent_find(slots.begin(), slots.end(), [](const Slot& a, const Slot& b) {
           return a.id >= b.id;
         }) == slots.end();
}

void SortSlots(Node& node) {
  if (AreSorted(node.slots)) return;
  std::stable_sort(node.slots.begin(), node.slots.end(),
                   [](const Slot& a, const Slot& b) { return a.id < b.id; });
  const auto same = [](const Slot& a, const Slot& b) { return a.id == b.id; };
  node.slots.erase(std::unique(node.slots.begin(), node.slots.end(), same), node.slots.end());
}

}  // namespace

PoolState& Registry::PoolNamed(const std::string& name) {
  auto& pool = pools_[name];
  if (pool == nullptr) {
    pool = std::make_unique<PoolState>(name);
  }
  return *pool;
}

PoolState* Registry::FindPool(const std::string& name) const {
  const auto it = pools_.find(name);
  return it == pools_.end() ? nullptr : it->second.get();
}

const GangState* Registry::FindGang(const model::AllocationId& id) const {
  const auto it = gangs_.find(id);
  return it == gangs_.end() ? nullptr : *it;
}

void Registry::Reserve(size_t gangs, size_t jobs) {
  gangs_.reserve(gangs);
  jobs_.reserve(jobs);
}

void Registry::Put(model::ResourcePool config) {
  PoolState& pool = PoolNamed(config.name);
  std::vector<JobQueue*> queues;
  std::vector<GangState*> running;
  for (GangState* gang : gangs_) {
    if (gang->pool == &pool && gang->running) running.push_back(gang);
  }
  for (const auto& [id, job] : jobs_) {
    for (const auto& queue : job->queues) {
      if (queue->gang_class->pool == &pool) queues.push_back(queue.get());
    }
  }
  for (JobQueue* queue : queues) UnlistQueue(*queue);
  for (GangState* gang : running) RemoveVictim(*gang);
  pool.config = std::move(config);
  pool.configured = true;
  pool.stale = true;
  for (JobQueue* queue : queues) ListQueue(*queue);
  for (GangState* gang : running) AddVictim(*gang);
}

void Registry::RemovePool(const std::string& name) {
  if (FindPool(name) == nullptr) return;
  model::ResourcePool defaults;
  defaults.name = name;
  Put(std::move(defaults));
  PoolNamed(name).configured = false;
}

NodeState& Registry::NodeNamed(const model::AgentId& id) {
  auto& node = nodes_[id];
  if (node == nullptr) {
    node = std::make_unique<NodeState>();
    node->id = id;
  }
  return *node;
}

// Removes the gangs of the node from all of their nodes.
void Registry::EvictFrom(NodeState& node, std::vector<GangState*>& gangs) {
  gangs = node.gangs;
  std::sort(gangs.begin(), gangs.end());
  gangs.erase(std::unique(gangs.begin(), gangs.end()), gangs.end());
  for (GangState* gang : gangs) Vacate(*gang);
}

void Registry::Readmit(const std::vector<GangState*>& gangs) {
  for (GangState* gang : gangs) Occupy(*gang, Resolve(*gang->gang));
}

void Registry::Put(Node node) {
  SortSlots(node);
  auto owned = std::make_unique<const Node>(std::move(node));
  const Node& borrowed = *owned;
  PutNode(borrowed, std::move(owned));
}

void Registry::PutBorrowed(const Node& node) {
  if (AreSorted(node.slots)) return PutNode(node, nullptr);
  Put(node);
}

void Registry::PutNode(const Node& node, std::unique_ptr<const Node> owned) {
  NodeState& state = NodeNamed(node.id);
  if (state.node != nullptr && SameShape(*state.node, node)) {
    state.node = &node;
    state.owned = std::move(owned);
    for (size_t i = 0; i < state.slots.size(); ++i) {
      state.slots[i].enabled = state.node->slots[i].enabled;
    }
    ++state.pool->version;
    state.pool->Refresh(state);
    return;
  }
  std::vector<GangState*> gangs;
  EvictFrom(state, gangs);
  if (state.pool != nullptr) {
    state.pool->stale = true;
    std::erase(state.pool->nodes, &state);
  }
  state.slots.clear();
  state.slots.reserve(node.slots.size());
  for (const Slot& slot : node.slots) {
    state.slots.push_back({.id = slot.id, .island = slot.island, .enabled = slot.enabled});
  }
  state.in_maintenance = false;
  state.next_maintenance = absl::InfiniteFuture();
  state.pool = &PoolNamed(node.resource_pool);
  state.pool->stale = true;
  state.pool->nodes.push_back(&state);
  state.node = &node;
  state.owned = std::move(owned);
  Readmit(gangs);
}

void Registry::RemoveNode(const model::AgentId& id) {
  const auto it = nodes_.find(id);
  if (it == nodes_.end() || !it->second->node) return;
  NodeState& state = *it->second;
  std::vector<GangState*> gangs;
  EvictFrom(state, gangs);
  state.pool->stale = true;
  std::erase(state.pool->nodes, &state);
  state.pool = nullptr;
  state.node = nullptr;
  state.owned = nullptr;
  state.slots.clear();
  state.rank = -1;
  state.in_maintenance = false;
  Readmit(gangs);
  if (state.gangs.empty()) nodes_.erase(it);
}

}  // namespace det::scheduler
