#include "master/scheduler/spread.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace det::scheduler {
namespace {

constexpr int kTooMany = std::numeric_limits<int>::max();

struct Candidate {
  int usable = 0;
  int rank = 0;
};

// Largest first; the last share goes to the node that it fills best.
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

// The same straight from the view, for classes that it tells all about.
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

// How many nodes it takes, `counts[u]` of which hold u slots.
int NodesNeeded(const std::vector<int>& counts, int slots) {
  int nodes = 0;
  for (auto usable = static_cast<int>(counts.size()) - 1; usable > 0 && slots > 0; --usable) {
    const int used = std::min(counts[static_cast<size_t>(usable)], (slots + usable - 1) / usable);
    nodes += used;
    slots -= std::min(slots, used * usable);
  }
  return slots > 0 ? kTooMany : nodes;
}

int64_t Sum(const std::vector<int>& counts) {
  int64_t sum = 0;
  for (size_t usable = 0; usable < counts.size(); ++usable) {
    sum += static_cast<int64_t>(usable) * counts[usable];
  }
  return sum;
}

using Counts = std::vector<std::vector<int>>;

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

// The switches below which `nodes` nodes suffice: the fullest one alone, or the emptiest together.
std::vector<int> FewestSwitches(const std::vector<const std::vector<int>*>& counts, int nodes,
                                int slots) {
  int best = -1;
  int64_t least = 0;
  for (int s = 0; s < static_cast<int>(counts.size()); ++s) {
    const auto& here = *counts[static_cast<size_t>(s)];
    const int64_t sum = Sum(here);
    if (sum < slots || (best >= 0 && sum >= least) || NodesNeeded(here, slots) != nodes) continue;
    best = s;
    least = sum;
  }
  if (best >= 0) return {best};
  std::vector<std::pair<int64_t, int>> order;
  for (int s = 0; s < static_cast<int>(counts.size()); ++s) {
    order.emplace_back(-Sum(*counts[static_cast<size_t>(s)]), s);
  }
  std::sort(order.begin(), order.end());
  std::vector<int> chosen, together;
  for (const auto& [minus_sum, s] : order) {
    const auto& here = *counts[static_cast<size_t>(s)];
    chosen.push_back(s);
    if (together.size() < here.size()) together.resize(here.size());
    for (size_t usable = 0; usable < here.size(); ++usable) together[usable] += here[usable];
    if (NodesNeeded(together, slots) == nodes) break;
  }
  return chosen;
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
  std::vector<const std::vector<int>*> counts;
  for (int s = 0; s < static_cast<int>(pool.switches.size()); ++s) {
    counts.push_back(plain ? &c.view(h).OfSwitch(s) : &own[static_cast<size_t>(s)]);
  }
  std::vector<Candidate> below;
  for (const int s : FewestSwitches(counts, static_cast<int>(fitting->size()), slots)) {
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
