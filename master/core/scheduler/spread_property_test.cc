// Placement by network topology, compared with an exhaustive search on random small clusters. A
// failure reports its seed.
#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "master/core/scheduler/scheduler.h"
#include "master/core/scheduler/testing/make.h"
#include <gtest/gtest.h>

namespace det::scheduler {
namespace {

int Roll(base::Rng& rng, int low, int high) { return static_cast<int>(rng.UniformInt(low, high)); }

// The number of nodes and of switches.
using Spread = std::pair<int, int>;

// Returns a node with some of its slots in use.
Node RandomNode(base::Rng& rng, int number, int switches, Snapshot& snapshot) {
  Node node = MakeNode(absl::StrCat("n", number), Roll(rng, 1, 5));
  node.network_switch = absl::StrCat("s", Roll(rng, 1, switches));
  const int used = Roll(rng, 0, 1) * Roll(rng, 0, static_cast<int>(node.slots.size()));
  if (used == 0) return node;
  std::vector<int> slots;
  for (int i = 0; i < used; ++i) slots.push_back(i);
  Add(RunningOn(MakeGang(absl::StrCat("on-", node.id.value()), used), node.id.value(), slots),
      snapshot);
  return node;
}

int FreeOn(const Snapshot& snapshot, const Node& node) {
  auto free = static_cast<int>(node.slots.size());
  for (const Gang& gang : snapshot.gangs) {
    for (const model::Placement& placement : gang.running_on) {
      if (placement.agent == node.id) free -= static_cast<int>(placement.slots.size());
    }
  }
  return free;
}

// Returns the best of all sets of nodes that hold the gang.
Spread GetBest(const Snapshot& snapshot, const Gang& gang) {
  std::vector<std::pair<int, std::string>> nodes;  // free slots, switch
  for (const Node& node : snapshot.nodes) {
    if (std::find(gang.blocked.begin(), gang.blocked.end(), node.id) != gang.blocked.end())
      continue;
    nodes.emplace_back(FreeOn(snapshot, node), node.network_switch);
  }
  constexpr int kNone = std::numeric_limits<int>::max();
  Spread best(kNone, kNone);
  for (unsigned set = 1; set < 1u << nodes.size(); ++set) {
    int slots = 0;
    std::set<std::string> switches;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      slots += nodes[i].first;
      switches.insert(nodes[i].second);
    }
    if (slots < gang.slots) continue;
    best = std::min(best, Spread(std::popcount(set), static_cast<int>(switches.size())));
  }
  return best;
}

Spread GetSpread(const Snapshot& snapshot, const Assignment& assignment) {
  std::set<std::string> switches;
  for (const model::Placement& placement : assignment.on) {
    for (const Node& node : snapshot.nodes) {
      if (node.id == placement.agent) switches.insert(node.network_switch);
    }
  }
  return {static_cast<int>(assignment.on.size()), static_cast<int>(switches.size())};
}

TEST(SpreadPropertyTest, UsesFewestNodesAndSwitches) {
  int spread = 0;
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    base::Rng rng(seed);
    Snapshot snapshot;
    const int switches = Roll(rng, 1, 6);
    for (int i = Roll(rng, 1, 10); i > 0; --i) {
      snapshot.nodes.push_back(RandomNode(rng, i, switches, snapshot));
    }
    Submission made = MakeGang("x", Roll(rng, 1, 24));
    if (Roll(rng, 1, 4) == 1) made.gang.blocked = {model::AgentId("n1")};
    Add(made, snapshot);
    const Spread best = GetBest(snapshot, made.gang);
    const Plan plan = Schedule(snapshot).plan;
    const bool fits = best.first <= static_cast<int>(snapshot.nodes.size());
    ASSERT_EQ(plan.assign.size(), fits ? 1u : 0u);
    if (!fits) continue;
    ASSERT_EQ(GetSpread(snapshot, plan.assign[0]), best) << Starts(plan);
    spread += best.second > 1 ? 1 : 0;
  }
  EXPECT_GT(spread, 2000) << "too few gangs are spread";
}

// Returns the minimum number of islands of the node for a gang, given the free slots of each.
int FewestIslands(const std::map<int, int>& free, int slots) {
  std::vector<int> sizes;
  for (const auto& [island, size] : free) sizes.push_back(size);
  std::sort(sizes.rbegin(), sizes.rend());
  int islands = 0;
  for (; slots > 0; ++islands) slots -= sizes[static_cast<size_t>(islands)];
  return islands;
}

TEST(SpreadPropertyTest, UsesFewestIslands) {
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    base::Rng rng(seed);
    Node node = MakeNode("a", Roll(rng, 1, 8));
    std::map<int, int> free;
    std::vector<int> used;
    for (Slot& slot : node.slots) {
      slot.island = Roll(rng, 0, 3);
      const bool taken = Roll(rng, 1, 4) == 1;
      if (taken) used.push_back(slot.id);
      if (!taken) ++free[slot.island];
    }
    const auto slots = static_cast<int>(node.slots.size() - used.size());
    if (slots == 0) continue;
    Snapshot snapshot;
    snapshot.nodes = {node};
    if (!used.empty()) {
      Add(RunningOn(MakeGang("on", static_cast<int>(used.size())), "a", used), snapshot);
    }
    Add(MakeGang("x", Roll(rng, 1, slots)), snapshot);
    const int requested = snapshot.gangs.back().slots;
    const Plan plan = Schedule(snapshot).plan;
    ASSERT_EQ(plan.assign.size(), 1u);
    std::set<int> islands;
    for (const int id : plan.assign[0].on[0].slots) {
      islands.insert(node.slots[static_cast<size_t>(id)].island);
    }
    ASSERT_EQ(static_cast<int>(islands.size()), FewestIslands(free, requested)) << Starts(plan);
    if (islands.size() > 1) continue;
    for (const auto& [island, size] : free) {
      EXPECT_FALSE(size >= requested && size < free[*islands.begin()]) << island << " is smaller";
    }
  }
}

}  // namespace
}  // namespace det::scheduler
