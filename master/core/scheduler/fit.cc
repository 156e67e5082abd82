#include "master/core/scheduler/fit.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "master/core/scheduler/spread.h"

namespace det::scheduler {
namespace {

// Returns the node with the fewest free slots on which the gang fits.
int BestNode(const PoolState& pool, const GangClass& c, int slots, Horizon h) {
  const View& view = c.view(h);
  const int largest = view.LargestFree(1 << 30);
  for (int free = slots; free <= largest; ++free) {
    if (view.CountWithFree(free) == 0) continue;
    for (int r = view.NextWithFree(free, 0); r >= 0; r = view.NextWithFree(free, r + 1)) {
      if (Usable(pool, c, r, h) >= slots) return r;
    }
  }
  return -1;
}

// Returns the node with the most free slots.
int WorstNode(const PoolState& pool, const GangClass& c, int slots, Horizon h) {
  int best = -1;
  int64_t best_free = 0;
  int64_t best_capacity = 1;
  for (const View::Group& group : c.view(h).groups()) {
    int found = -1;
    for (int free = group.capacity; free >= slots && found < 0; --free) {
      const NodeSet& nodes = group.by_free[static_cast<size_t>(free)];
      for (found = nodes.Next(0); found >= 0; found = nodes.Next(found + 1)) {
        if (Usable(pool, c, found, h) >= slots) break;
      }
    }
    if (found < 0) continue;
    const int64_t free = c.view(h).free(found);
    const int64_t here = free * best_capacity;
    const int64_t there = best_free * group.capacity;
    if (best < 0 || here > there || (here == there && found < best)) {
      best = found;
      best_free = free;
      best_capacity = group.capacity;
    }
  }
  return best;
}

std::optional<Fitting> FitOnOne(const PoolState& pool, const GangClass& c, int slots, Horizon h) {
  const int rank = pool.config.fitting == model::FittingPolicy::kBest
                       ? BestNode(pool, c, slots, h)
                       : WorstNode(pool, c, slots, h);
  if (rank < 0) return std::nullopt;
  return Fitting{{pool.nodes[static_cast<size_t>(rank)], slots}};
}

// Returns the node with the fewest gangs without slots, to spread them.
std::optional<Fitting> FitWithoutSlots(const PoolState& pool, const GangClass& c, Horizon h) {
  for (const NodeSet& nodes : pool.index[h].by_places) {
    for (int r = nodes.Next(0); r >= 0; r = nodes.Next(r + 1)) {
      NodeState& node = *pool.nodes[static_cast<size_t>(r)];
      if (MayRunOn(pool, c, node) && CountFree(node.cpus, h) >= c.shape.cpus &&
          CountFree(node.memory, h) >= c.shape.memory) {
        return Fitting{{&node, 0}};
      }
    }
  }
  return std::nullopt;
}

// Uses the shared device with the least sufficient room; otherwise a free one.
std::optional<Fitting> FitFraction(const PoolState& pool, const GangClass& c, Horizon h) {
  if (!pool.config.shared_devices) return std::nullopt;
  for (auto it = pool.index[h].shared.lower_bound({c.shape.fraction, 0, 0});
       it != pool.index[h].shared.end(); ++it) {
    NodeState& node = *pool.nodes[static_cast<size_t>(std::get<1>(*it))];
    const SlotState& slot = node.slots[static_cast<size_t>(std::get<2>(*it))];
    if (c.Matches(slot.device) && MayRunOn(pool, c, node) &&
        CountFree(node.cpus, h) >= c.shape.cpus && CountFree(node.memory, h) >= c.shape.memory) {
      return Fitting{{&node, 1}};
    }
  }
  return FitOnOne(pool, c, 1, h);
}

struct FreeSlot {
  int index = 0;
  int island = 0;
  bool terminating = false;
  int beside = 0;  // free slots of its island, itself included
};
using FreeSlots = absl::InlinedVector<FreeSlot, 16>;

FreeSlots FindFree(const NodeState& node, const GangClass& c, Horizon h) {
  FreeSlots free;
  for (int i = 0; i < static_cast<int>(node.slots.size()); ++i) {
    const SlotState& slot = node.slots[static_cast<size_t>(i)];
    if (FreePart(slot, h) != kWhole || !c.Matches(slot.device)) continue;
    free.push_back({.index = i, .island = slot.island, .terminating = slot.terminating > 0});
  }
  return free;
}

// Sorts by island: the smallest sufficient one first, otherwise the largest. Within an island,
// slots that are free now come before those of terminating gangs.
void SortByIsland(FreeSlots& free, int requested) {
  for (FreeSlot& slot : free) {
    slot.beside = static_cast<int>(std::count_if(
        free.begin(), free.end(), [&](const FreeSlot& s) { return s.island == slot.island; }));
  }
  const auto key = [&](const FreeSlot& s) {
    const bool suffices = s.beside >= requested;
    return std::tuple(!suffices, suffices ? s.beside : -s.beside, s.island, s.terminating, s.index);
  };
  std::sort(free.begin(), free.end(),
            [&](const FreeSlot& a, const FreeSlot& b) { return key(a) < key(b); });
}

// Returns the slot with the least sufficient room.
int PickShared(const NodeState& node, const GangClass& c, Horizon h) {
  int best = -1;
  Micro least = kWhole + 1;
  for (int i = 0; i < static_cast<int>(node.slots.size()); ++i) {
    const SlotState& slot = node.slots[static_cast<size_t>(i)];
    const Micro room = FreePart(slot, h);
    if (!c.Matches(slot.device) || room < c.shape.fraction || room >= least) continue;
    best = i;
    least = room;
  }
  return best;
}

}  // namespace

bool MayRunOn(const PoolState& pool, const GangClass& c, const NodeState& node) {
  if (!c.blocked.empty() && c.blocked[static_cast<size_t>(node.rank)]) return false;
  if (node.next_maintenance == absl::InfiniteFuture() || pool.ignores_maintenance) return true;
  if (c.shape.max_run_time == absl::InfiniteDuration()) {
    return node.next_maintenance - pool.now > pool.config.maintenance_lead;
  }
  return pool.now + c.shape.max_run_time <= node.next_maintenance;
}

int Usable(const PoolState& pool, const GangClass& c, int rank, Horizon h) {
  int usable = c.view(h).free(rank);
  if (c.plain() && pool.with_maintenance.empty()) return usable;
  const NodeState& node = *pool.nodes[static_cast<size_t>(rank)];
  if (!MayRunOn(pool, c, node)) return 0;
  const auto limit = [&](const Counted& counted, int64_t each) {
    if (each > 0) {
      usable = static_cast<int>(std::min<int64_t>(usable, CountFree(counted, h) / each));
    }
  };
  limit(node.cpus, c.shape.cpus);
  limit(node.memory, c.shape.memory);
  return usable;
}

std::optional<Fitting> Fit(const PoolState& pool, const GangClass& c, int slots, Horizon h) {
  if (slots == 0) return FitWithoutSlots(pool, c, h);
  if (c.shape.fraction < kWhole) return FitFraction(pool, c, h);
  if (c.view(h).total_free() < slots) return std::nullopt;
  if (auto one = FitOnOne(pool, c, slots, h)) return one;
  if (c.shape.single_node) return std::nullopt;
  return pool.config.heterogeneous ? SpreadOverFewest(pool, c, slots, h)
                                   : SpreadOverEquals(pool, c, slots, h);
}

Hold PickSlots(const GangClass& c, const Share& share, Horizon h) {
  Hold hold{.node = share.node, .slots = {}};
  if (share.slots == 0) return hold;
  if (c.shape.fraction < kWhole) {
    const int slot = PickShared(*share.node, c, h);
    if (slot >= 0) hold.slots.push_back(slot);
    return hold;
  }
  FreeSlots free = FindFree(*share.node, c, h);
  const auto requested = static_cast<size_t>(share.slots);
  if (free.size() > requested) {
    SortByIsland(free, share.slots);
    free.resize(requested);
  }
  for (const FreeSlot& slot : free) hold.slots.push_back(slot.index);
  std::sort(hold.slots.begin(), hold.slots.end());
  return hold;
}

}  // namespace det::scheduler
