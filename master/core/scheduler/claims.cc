#include "master/core/scheduler/claims.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/functional/function_ref.h"
#include "master/core/scheduler/feasible.h"
#include "master/core/scheduler/holdings.h"

namespace det::scheduler {
namespace {

// The slots that gangs of the class can use, by the time when they become free.
using Releases = std::vector<std::pair<absl::Time, int>>;

absl::Time Whole(Releases releases, int missing) {
  std::sort(releases.begin(), releases.end());
  for (const auto& [time, slots] : releases) {
    missing -= slots;
    if (missing <= 0) return time;
  }
  return absl::InfiniteFuture();
}

int Matching(const GangClass& c, const Hold& hold) {
  if (c.shape.fraction < kWhole) return 0;
  return static_cast<int>(std::count_if(hold.slots.begin(), hold.slots.end(), [&](int slot) {
    return c.Matches(hold.node->slots[static_cast<size_t>(slot)].device);
  }));
}

// Returns when the node will have all the slots that a gang of the class needs, by the max_run_time
// of the gangs there; InfiniteFuture if unknown.
absl::Time WholeOn(const PoolState& pool, const GangClass& c, const NodeState& node) {
  Releases releases;
  for (const GangState* gang : node.gangs) {
    for (const Hold& hold : gang->holds) {
      if (hold.node != &node) continue;
      releases.emplace_back(gang->terminating ? pool.now : gang->ends_at(), Matching(c, hold));
    }
  }
  return Whole(std::move(releases), c.shape.slots - c.view(kNow).free(node.rank));
}

absl::Time WholeInPool(const PoolState& pool, const GangClass& c, int missing) {
  for (const GangState* gang : pool.ending) {
    for (const Hold& hold : gang->holds) {
      if (hold.node->pool == &pool) missing -= Matching(c, hold);
    }
    if (missing <= 0) return gang->ends_at();
  }
  return absl::InfiniteFuture();
}

// Returns the node that has all the needed slots first, among nodes with gangs that have a
// max_run_time; nullptr if unknown.
NodeState* FirstWhole(const PoolState& pool, const GangClass& c) {
  NodeState* best = nullptr;
  std::tuple<absl::Time, int, int> best_key;
  std::set<const NodeState*> seen;
  for (const GangState* gang : pool.ending) {
    for (const Hold& hold : gang->holds) {
      NodeState* node = hold.node;
      if (node->pool != &pool || !pool.IsOpen(*node) || !seen.insert(node).second) continue;
      if (c.view(kNow).free(node->rank) == 0 || !CanHold(*node, c)) continue;
      if (!MayRunOn(pool, c, *node)) continue;
      const absl::Time whole = WholeOn(pool, c, *node);
      if (whole == absl::InfiniteFuture()) continue;
      const std::tuple key(whole, -c.view(kNow).free(node->rank), node->rank);
      if (best == nullptr || key < best_key) {
        best = node;
        best_key = key;
      }
    }
  }
  return best;
}

// Returns the node with the most free slots.
NodeState* MostFree(const PoolState& pool, const GangClass& c) {
  const View& view = c.view(kNow);
  for (int free = view.LargestFree(1 << 30); free > 0; free = view.LargestFree(free - 1)) {
    for (int r = view.NextWithFree(free, 0); r >= 0; r = view.NextWithFree(free, r + 1)) {
      NodeState* node = pool.nodes[static_cast<size_t>(r)];
      if (CanHold(*node, c) && MayRunOn(pool, c, *node)) return node;
    }
  }
  return nullptr;
}

ClaimState ClaimOneNode(const PoolState& pool, GangState& gang) {
  const GangClass& c = *gang.gang_class;
  ClaimState claim{.gang = &gang, .holds = {}};
  NodeState* node = pool.ending.empty() ? nullptr : FirstWhole(pool, c);
  const bool known = node != nullptr;
  if (!known) node = MostFree(pool, c);
  if (node == nullptr) return claim;
  const int slots = std::min(c.shape.slots, c.view(kNow).free(node->rank));
  claim.holds.push_back(PickSlots(c, {node, slots}, kNow));
  const bool only_slots = c.shape.cpus == 0 && c.shape.memory == 0;
  if (known && only_slots) claim.whole_at = WholeOn(pool, c, *node);
  return claim;
}

// Visits nodes with free slots, those with the most first, until `take` returns that it is enough.
void ByFreeSlots(const View& view, absl::FunctionRef<bool(int rank)> take) {
  for (int free = view.LargestFree(1 << 30); free > 0; free = view.LargestFree(free - 1)) {
    for (int r = view.NextWithFree(free, 0); r >= 0; r = view.NextWithFree(free, r + 1)) {
      if (take(r)) return;
    }
  }
}

// Claims all slots that the gang can use, because any slot that another gets delays it. First slots
// that it could use now, then slots that lack only cpus or memory.
ClaimState ClaimAllNodes(const PoolState& pool, GangState& gang) {
  const GangClass& c = *gang.gang_class;
  const View& view = c.view(kNow);
  int missing = c.shape.slots;
  std::map<int, int> shares;  // slots by rank
  ByFreeSlots(view, [&](int r) {
    const int slots = std::min(missing, Usable(pool, c, r, kNow));
    if (slots > 0) shares[r] = slots;
    missing -= slots;
    return missing == 0;
  });
  if (missing > 0 && !c.plain()) {
    ByFreeSlots(view, [&](int r) {
      const NodeState& node = *pool.nodes[static_cast<size_t>(r)];
      if (!MayRunOn(pool, c, node)) return false;
      const int most = std::min(view.free(r), MaxSlotsOn(node, c));
      const auto has = shares.find(r);
      const int more = std::min(missing, most - (has == shares.end() ? 0 : has->second));
      if (more > 0) shares[r] += more;
      missing -= std::max(0, more);
      return missing == 0;
    });
  }
  ClaimState claim{.gang = &gang, .holds = {}};
  for (const auto& [r, slots] : shares) {
    claim.holds.push_back(PickSlots(c, {pool.nodes[static_cast<size_t>(r)], slots}, kNow));
  }
  if (c.plain() && !claim.holds.empty()) {
    const absl::Time whole = WholeInPool(pool, c, missing);
    if (whole != absl::InfiniteFuture()) claim.whole_at = whole;
  }
  return claim;
}

// Claims the shared slot with the most room; otherwise a free one.
ClaimState ClaimSharedSlot(const PoolState& pool, GangState& gang) {
  ClaimState claim{.gang = &gang, .holds = {}};
  const auto& shared = pool.index[kNow].shared;
  for (auto it = shared.rbegin(); it != shared.rend(); ++it) {
    NodeState* node = pool.nodes[static_cast<size_t>(std::get<1>(*it))];
    const int slot = std::get<2>(*it);
    if (!gang.gang_class->Matches(node->slots[static_cast<size_t>(slot)].device)) continue;
    if (!MayRunOn(pool, *gang.gang_class, *node) || !CanHold(*node, *gang.gang_class)) continue;
    claim.holds.push_back({.node = node, .slots = {slot}});
    return claim;
  }
  NodeState* node = MostFree(pool, *gang.gang_class);
  if (node != nullptr) claim.holds.push_back(PickSlots(*gang.gang_class, {node, 1}, kNow));
  return claim;
}

// Returns the fraction of the request that is missing.
double Missing(const Counted& counted, int64_t requested) {
  if (requested <= 0) return 0;
  const auto total = static_cast<double>(requested);
  return std::max(0.0, 1 - static_cast<double>(CountFree(counted, kNow)) / total);
}

// Claims cpus and memory for a gang without slots, on the node where the least of either is
// missing. A gang that requests neither waits only for a place and gets the first one that becomes
// free.
ClaimState ClaimWithoutSlots(const PoolState& pool, GangState& gang) {
  const GangClass& c = *gang.gang_class;
  ClaimState claim{.gang = &gang, .holds = {}};
  if (c.shape.cpus == 0 && c.shape.memory == 0) return claim;
  NodeState* best = nullptr;
  double least = 0;
  for (NodeState* node : pool.nodes) {
    if (!pool.IsOpen(*node) || !MayRunOn(pool, c, *node) || !CanHold(*node, c)) continue;
    const double missing =
        std::max({Missing(node->cpus, c.shape.cpus), Missing(node->memory, c.shape.memory),
                  Missing(node->places, 1)});
    if (best != nullptr && missing >= least) continue;
    best = node;
    least = missing;
  }
  if (best != nullptr) claim.holds.push_back(PickSlots(c, {best, 0}, kNow));
  return claim;
}

}  // namespace

ClaimState ChooseClaim(const PoolState& pool, GangState& gang) {
  const Shape& shape = gang.gang_class->shape;
  if (shape.slots == 0) return ClaimWithoutSlots(pool, gang);
  if (shape.fraction < kWhole) return ClaimSharedSlot(pool, gang);
  if (shape.single_node) return ClaimOneNode(pool, gang);
  return ClaimAllNodes(pool, gang);
}

std::vector<Hold> MakeHolds(const GangClass& c, const Fitting& fitting, Horizon horizon) {
  std::vector<Hold> holds;
  for (const Share& share : fitting) holds.push_back(PickSlots(c, share, horizon));
  return holds;
}

bool WouldTake(const ClaimState& claim, const GangState& terminating) {
  if (!claim.lacks) return false;
  const GangClass& c = *claim.gang->gang_class;
  return std::any_of(terminating.holds.begin(), terminating.holds.end(), [&](const Hold& hold) {
    if (hold.node->pool != c.pool || !c.pool->IsOpen(*hold.node)) return false;
    const Shape& given = terminating.gang_class->shape;
    const auto fits = [&](int slot) {
      return c.Matches(hold.node->slots[static_cast<size_t>(slot)].device);
    };
    const bool matches =
        (c.shape.cpus > 0 && given.cpus > 0) || (c.shape.memory > 0 && given.memory > 0) ||
        (c.shape.slots == 0 ? given.slots == 0
                            : std::any_of(hold.slots.begin(), hold.slots.end(), fits));
    return matches && CanHoldPart(*hold.node, c) && MayRunOn(*c.pool, c, *hold.node);
  });
}

void Apply(const ClaimState& claim) {
  for (const Hold& hold : claim.holds) Claim(*claim.gang->gang_class, hold);
}

void Release(const ClaimState& claim) {
  for (const Hold& hold : claim.holds) Unclaim(*claim.gang->gang_class, hold);
}

}  // namespace det::scheduler
