// Properties of the scheduler over random snapshots. A failure names its seed.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "master/scheduler/fit.h"
#include "master/scheduler/scheduler.h"
#include "master/scheduler/testing/make.h"
#include <gtest/gtest.h>

namespace det::scheduler {
namespace {

using model::AgentId;
using model::JobId;
using model::Placement;

Snapshot RandomSnapshot(base::Rng& rng) {
  Snapshot snapshot;
  for (int64_t i = rng.UniformInt(0, 6); i > 0; --i) {
    Node node = MakeNode(absl::StrCat("n", i), static_cast<int>(rng.UniformInt(0, 5)),
                         rng.UniformInt(0, 3) == 0 ? "gpu" : "default");
    node.accepts_work = rng.UniformInt(0, 7) > 0;
    snapshot.nodes.push_back(node);
  }
  for (int64_t i = rng.UniformInt(0, 12); i > 0; --i) {
    Gang gang = MakeGang(absl::StrCat("g", i), static_cast<int>(rng.UniformInt(0, 7)),
                         static_cast<int>(rng.UniformInt(1, 3)));
    gang.job = JobId(absl::StrCat("j", rng.UniformInt(0, 4)));
    gang.submitted = rng.UniformInt(0, 5);
    gang.single_node = rng.UniformInt(0, 3) == 0;
    if (rng.UniformInt(0, 3) == 0) gang.resource_pool = "gpu";
    if (gang.job.value() < "j2") gang.job_max_slots = gang.job.value() == "j0" ? 3 : 6;
    if (gang.job.value() > "j2") gang.job_max_gangs = gang.job.value() == "j3" ? 1 : 2;
    snapshot.gangs.push_back(gang);
  }
  // Half of the snapshots have gangs that run already, placed by an earlier call.
  if (rng.UniformInt(0, 1) == 0) {
    const Plan plan = Schedule(snapshot);
    for (Gang& gang : snapshot.gangs) {
      const auto it = plan.assign.find(gang.id);
      if (it != plan.assign.end() && rng.UniformInt(0, 1) == 0) gang.running_on = it->second;
    }
  }
  return snapshot;
}

const Node* FindNode(const Snapshot& snapshot, const AgentId& id) {
  for (const Node& node : snapshot.nodes) {
    if (node.id == id) return &node;
  }
  return nullptr;
}

// The nodes of a pool with what a set of placements leaves free.
std::vector<FreeNode> Leftover(const Snapshot& snapshot, const std::string& pool) {
  std::vector<FreeNode> nodes;
  for (const Node& node : snapshot.nodes) {
    if (node.resource_pool != pool) continue;
    FreeNode free{.id = node.id, .free = {}, .accepts_work = node.accepts_work};
    if (node.accepts_work) free.free = node.slots;
    nodes.push_back(free);
  }
  for (const Gang& gang : snapshot.gangs) Take(gang.running_on, nodes);
  return nodes;
}

void CheckWhole(const Snapshot& snapshot, const Gang& gang, const std::vector<Placement>& shares) {
  int slots = 0;
  for (const Placement& share : shares) {
    const Node* node = FindNode(snapshot, share.agent);
    ASSERT_NE(node, nullptr);
    EXPECT_TRUE(node->accepts_work);
    EXPECT_EQ(node->resource_pool, gang.resource_pool);
    for (const int slot : share.slots) {
      EXPECT_TRUE(std::find(node->slots.begin(), node->slots.end(), slot) != node->slots.end());
    }
    slots += static_cast<int>(share.slots.size());
  }
  EXPECT_EQ(slots, gang.slots) << "a gang is whole or absent";
  EXPECT_GE(shares.size(), 1u);
  if (gang.single_node || gang.slots == 0) {
    EXPECT_EQ(shares.size(), 1u);
  }
}

// Every gang of a job carries the same limit, as its configuration is one.
void CheckMaxSlots(const Snapshot& before, const Plan& plan) {
  std::map<JobId, int> held, gangs;
  for (const Gang& gang : before.gangs) {
    const bool runs = !gang.running_on.empty() || plan.assign.contains(gang.id);
    held[gang.job] += runs ? gang.slots : 0;
    gangs[gang.job] += runs ? 1 : 0;
  }
  for (const Gang& gang : before.gangs) {
    if (gang.job_max_slots && gang.slots > 0 && plan.assign.contains(gang.id)) {
      EXPECT_LE(held[gang.job], *gang.job_max_slots) << gang.job;
    }
    if (gang.job_max_gangs && plan.assign.contains(gang.id)) {
      EXPECT_LE(gangs[gang.job], *gang.job_max_gangs) << gang.job;
    }
  }
}

// Whether the gang could start if nothing ran.
bool FitsWhenEmpty(Snapshot snapshot, const Gang& gang) {
  for (Gang& other : snapshot.gangs) other.running_on.clear();
  return Fit(gang, Leftover(snapshot, gang.resource_pool)).has_value();
}

void CheckPlan(const Snapshot& before, const Plan& plan) {
  Snapshot after = before;
  Apply(plan, after);
  std::set<std::pair<AgentId, int>> used;
  for (const Gang& gang : after.gangs) {
    for (const Placement& share : gang.running_on) {
      for (const int slot : share.slots) {
        EXPECT_TRUE(used.emplace(share.agent, slot).second) << "slot given twice: " << gang.id;
      }
    }
  }
  for (size_t i = 0; i < before.gangs.size(); ++i) {
    const Gang& gang = before.gangs[i];
    const bool assigned = plan.assign.contains(gang.id);
    const auto waiting = plan.waiting.find(gang.id);
    EXPECT_EQ(int{assigned} + int{waiting != plan.waiting.end()}, gang.running_on.empty() ? 1 : 0);
    if (assigned) CheckWhole(before, gang, plan.assign.at(gang.id));
    if (waiting == plan.waiting.end()) continue;
    EXPECT_FALSE(waiting->second.text.empty());
    if (waiting->second.kind != WaitReason::Kind::kNoCapacity) continue;
    EXPECT_EQ(Fit(gang, Leftover(after, gang.resource_pool)), std::nullopt)
        << gang.id << " fits what was left over";
    if (!FitsWhenEmpty(before, gang)) continue;  // needs an agent that is away
    for (const Gang& other : before.gangs) {
      EXPECT_FALSE(gang.slots > 0 && other.slots > 0 && plan.assign.contains(other.id) &&
                   other.resource_pool == gang.resource_pool && other.priority > gang.priority)
          << other.id << " started ahead of " << gang.id;
    }
  }
}

TEST(SchedulePropertyTest, HoldsOnRandomSnapshots) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    base::Rng rng(seed);
    const Snapshot snapshot = RandomSnapshot(rng);
    const Plan plan = Schedule(snapshot);
    CheckPlan(snapshot, plan);
    CheckMaxSlots(snapshot, plan);

    Snapshot shuffled = snapshot;
    rng.Shuffle(shuffled.nodes);
    rng.Shuffle(shuffled.gangs);
    EXPECT_EQ(Schedule(shuffled), plan) << "the order of the lists must not matter";

    Snapshot after = snapshot;
    Apply(plan, after);
    EXPECT_TRUE(Schedule(after).assign.empty()) << "the second round starts nothing";
    if (HasFailure()) return;
  }
}

TEST(SchedulePropertyTest, ALoneGangThatWaitsForCapacityStartsOnTheEmptyCluster) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    base::Rng rng(seed);
    const Snapshot snapshot = RandomSnapshot(rng);
    const Plan plan = Schedule(snapshot);
    for (const Gang& gang : snapshot.gangs) {
      const auto waiting = plan.waiting.find(gang.id);
      if (waiting == plan.waiting.end()) continue;
      Snapshot alone{.nodes = snapshot.nodes, .gangs = {gang}};
      for (Node& node : alone.nodes) node.accepts_work = true;
      const bool infeasible = waiting->second.kind == WaitReason::Kind::kInfeasible;
      EXPECT_EQ(Schedule(alone).assign.contains(gang.id), !infeasible) << gang.id;
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace det::scheduler
