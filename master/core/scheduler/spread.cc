#include "master/core/scheduler/spread.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "master/core/scheduler/fewest_switches.h"

namespace det::scheduler {
namespace {

struct Candidate {
  int usable = 0;
  int rank = 0;
};

// Takes the largest nodes first; the rest goes to the node that it fills best.
std::optional<Fitting> Greedy(const PoolState& pool, std::vector<Candidate> nodes, int slots) {
  std::sort(nodes.begin(), nodes.end(), [](const Candidate& a, const Candidate& b) {
    return a.usable != b.usable ? a.usable > b.usable : a.rank < b.rank;
  });
  Fitting fitting;
  for (auto it = nodes.begin(); it != nodes.end(); ++it) {
    if (it->usable < slots) {
      fitting.push_back({pool.nodes[static_cast<size_t>(it->rank)], it->usable});
      slots -= it->usable;
      continue;
    }
    const auto end =
        std::find_if(it, nodes.end(), [&](const Candidate& c) { return c.usable < slots; });
    const int least = std::prev(end)->usable;
    const auto last = std::find_if(it, end, [&](const Candidate& c) { return c.usable == least; });
    fitting.push_back({pool.nodes[static_cast<size_t>(last->rank)], slots});
    return fitting;
  }
  return std::nullopt;
}

// The same from the view alone, for classes that need only slots.
std::optional<Fitting> GreedyPlain(const PoolState& pool, const View& view, int slots) {
  Fitting fitting;
  for (int free = view.LargestFree(slots); free > 0; free = view.LargestFree(free - 1)) {
    int rank = view.NextWithFree(free, 0);
    for (; rank >= 0 && free < slots; rank = view.NextWithFree(free, rank + 1)) {
      fitting.push_back({pool.nodes[static_cast<size_t>(rank)], free});
      slots -= free;
    }
    if (rank < 0) continue;
    int least = slots;
    while (least < free && view.CountWithFree(least) == 0) ++least;
    const int last = least == free ? rank : view.NextWithFree(least, 0);
    fitting.push_back({pool.nodes[static_cast<size_t>(last)], slots});
    return fitting;
  }
  return std::nullopt;
}

std::vector<Candidate> All(const PoolState& pool, const GangClass& c, Horizon h) {
  std::vector<Candidate> nodes;
  for (int rank = 0; rank < static_cast<int>(pool.nodes.size()); ++rank) {
    const int usable = Usable(pool, c, rank, h);
    if (usable > 0) nodes.push_back({usable, rank});
  }
  return nodes;
}

using Counts = std::vector<NodesBySize>;

Counts CountsBySwitch(const PoolState& pool, const std::vector<Candidate>& nodes) {
  Counts counts(pool.switches.size());
  for (const Candidate& node : nodes) {
    auto& of =
        counts[static_cast<size_t>(pool.nodes[static_cast<size_t>(node.rank)]->network_switch)];
    if (of.size() <= static_cast<size_t>(node.usable)) {
      of.resize(static_cast<size_t>(node.usable) + 1);
    }
    ++of[static_cast<size_t>(node.usable)];
  }
  return counts;
}

}  // namespace

std::optional<Fitting> SpreadOverFewest(const PoolState& pool, const GangClass& c, int slots,
                                        Horizon h) {
  const bool plain = c.plain() && pool.with_maintenance.empty();
  std::vector<Candidate> all;
  if (!plain) all = All(pool, c, h);
  auto fitting = plain ? GreedyPlain(pool, c.view(h), slots) : Greedy(pool, all, slots);
  if (!fitting || pool.switches.size() < 2) return fitting;

  Counts own;
  if (!plain) own = CountsBySwitch(pool, all);
  std::vector<const NodesBySize*> counts;
  for (int s = 0; s < static_cast<int>(pool.switches.size()); ++s) {
    counts.push_back(plain ? &c.view(h).GetSwitchCounts(s) : &own[static_cast<size_t>(s)]);
  }
  std::vector<Candidate> below;
  for (const int s : FindFewestSwitches(counts, static_cast<int>(fitting->size()), slots)) {
    for (const int rank : pool.switches[static_cast<size_t>(s)]) {
      const int usable = Usable(pool, c, rank, h);
      if (usable > 0) below.push_back({usable, rank});
    }
  }
  return Greedy(pool, std::move(below), slots);
}

std::optional<Fitting> SpreadOverEquals(const PoolState& pool, const GangClass& c, int slots,
                                        Horizon h) {
  const auto& groups = c.view(h).groups();
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    const int size = group->capacity;
    if (size == 0 || slots % size != 0) continue;
    const NodeSet& idle = group->by_free[static_cast<size_t>(size)];
    Fitting fitting;
    for (int r = idle.Next(0); r >= 0 && static_cast<int>(fitting.size()) < slots / size;
         r = idle.Next(r + 1)) {
      if (Usable(pool, c, r, h) == size) {
        fitting.push_back({pool.nodes[static_cast<size_t>(r)], size});
      }
    }
    if (static_cast<int>(fitting.size()) == slots / size) return fitting;
  }
  return std::nullopt;
}

}  // namespace det::scheduler
