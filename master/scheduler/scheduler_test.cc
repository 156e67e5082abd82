#include "master/scheduler/scheduler.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/rng.h"
#include "master/scheduler/fit.h"
#include <gtest/gtest.h>

namespace det::scheduler {
namespace {

using model::AgentId;
using model::AllocationId;
using model::JobId;
using model::Placement;

Node MakeNode(const std::string& id, int slots, const std::string& pool = "default") {
  Node node{.id = AgentId(id), .resource_pool = pool};
  for (int i = 0; i < slots; ++i) node.slots.push_back(i);
  return node;
}

Gang MakeGang(const std::string& id, int slots, int priority = 42) {
  static int64_t submitted = 0;
  Gang gang;
  gang.id = AllocationId(id);
  gang.job = JobId("job-" + id);
  gang.resource_pool = "default";
  gang.slots = slots;
  gang.priority = priority;
  gang.submitted = ++submitted;
  return gang;
}

// "g1=a:0,1+b:0 g2=c:"
std::string Starts(const Plan& plan) {
  std::vector<std::string> parts;
  for (const auto& [id, placements] : plan.assign) {
    std::vector<std::string> shares;
    for (const Placement& p : placements) {
      shares.push_back(absl::StrCat(p.agent.value(), ":", absl::StrJoin(p.slots, ",")));
    }
    parts.push_back(absl::StrCat(id.value(), "=", absl::StrJoin(shares, "+")));
  }
  return absl::StrJoin(parts, " ");
}

// "g3:NoCapacity g4:Behind"
std::string Waits(const Plan& plan) {
  static const std::map<WaitReason::Kind, std::string> kNames = {
      {WaitReason::Kind::kNoCapacity, "NoCapacity"},
      {WaitReason::Kind::kInfeasible, "Infeasible"},
      {WaitReason::Kind::kOverMaxSlots, "OverMaxSlots"},
      {WaitReason::Kind::kBehindHigherPriority, "Behind"},
      {WaitReason::Kind::kAwaitingPreemption, "AwaitingPreemption"},
  };
  std::vector<std::string> parts;
  for (const auto& [id, reason] : plan.waiting) {
    parts.push_back(absl::StrCat(id.value(), ":", kNames.at(reason.kind)));
  }
  return absl::StrJoin(parts, " ");
}

// One call of the scheduler; before it, what has ended and what has come.
struct Round {
  std::vector<std::string> end;
  std::vector<Gang> submit;
  std::string starts;
  std::string waits;
};

void Apply(const Plan& plan, Snapshot& snapshot) {
  for (Gang& gang : snapshot.gangs) {
    const auto it = plan.assign.find(gang.id);
    if (it != plan.assign.end()) gang.running_on = it->second;
  }
}

// Plays the rounds, then one more in which nothing may happen.
void Play(Snapshot snapshot, const std::vector<Round>& rounds) {
  for (size_t i = 0; i < rounds.size(); ++i) {
    SCOPED_TRACE(absl::StrCat("round ", i));
    for (const std::string& id : rounds[i].end) {
      std::erase_if(snapshot.gangs, [&](const Gang& g) { return g.id.value() == id; });
    }
    for (const Gang& gang : rounds[i].submit) snapshot.gangs.push_back(gang);
    const Plan plan = Schedule(snapshot);
    EXPECT_EQ(Starts(plan), rounds[i].starts);
    EXPECT_EQ(Waits(plan), rounds[i].waits);
    EXPECT_TRUE(plan.preempt.empty());
    Apply(plan, snapshot);
  }
  const Plan rest = Schedule(snapshot);
  EXPECT_EQ(Starts(rest), "") << "a cluster at rest stays at rest";
  EXPECT_EQ(rest, Schedule(snapshot));
}

Gang OfJob(Gang gang, const std::string& job, int max_slots) {
  gang.job = JobId(job);
  gang.job_max_slots = max_slots;
  return gang;
}
Gang SingleNode(Gang gang) {
  gang.single_node = true;
  return gang;
}
Gang InPool(Gang gang, const std::string& pool) {
  gang.resource_pool = pool;
  return gang;
}

TEST(ScheduleTest, EmptyClusterAndEmptyQueue) {
  EXPECT_EQ(Schedule({}), Plan{});
  Play({{MakeNode("a", 2)}, {}}, {{.starts = "", .waits = ""}});
}

TEST(ScheduleTest, PlacesInOrderOfPriorityThenSubmission) {
  Play({{MakeNode("a", 2)}, {}},
       {{.submit = {MakeGang("low", 1, 50), MakeGang("first", 1), MakeGang("second", 1)},
         .starts = "first=a:0 second=a:1",
         .waits = "low:NoCapacity"},
        {.end = {"second"}, .starts = "low=a:1"}});
}

TEST(ScheduleTest, TakesTheNodeWithTheFewestFreeSlotsThatSuffices) {
  Play({{MakeNode("big", 8), MakeNode("b", 3), MakeNode("a", 3), MakeNode("one", 1)}, {}},
       {{.submit = {MakeGang("g", 2)}, .starts = "g=a:0,1"},
        {.submit = {MakeGang("h", 1)}, .starts = "h=a:2"},
        {.submit = {MakeGang("i", 2)}, .starts = "i=b:0,1"},
        {.submit = {MakeGang("j", 4)}, .starts = "j=big:0,1,2,3"}});
}

TEST(ScheduleTest, SpreadsAGangOverTheFewestNodesAndFillsTheLastBest) {
  Play({{MakeNode("a", 4), MakeNode("b", 2), MakeNode("c", 3), MakeNode("d", 1)}, {}},
       {{.submit = {MakeGang("six", 6)}, .starts = "six=a:0,1,2,3+b:0,1"},
        {.submit = {MakeGang("four", 4)}, .starts = "four=c:0,1,2+d:0"}});
}

TEST(ScheduleTest, UsesPartlyOccupiedNodesForALargeGang) {
  Play({{MakeNode("a", 4), MakeNode("b", 4)}, {}},
       {{.submit = {MakeGang("x", 1), MakeGang("y", 7)}, .starts = "x=a:0 y=b:0,1,2,3+a:1,2,3"}});
}

TEST(ScheduleTest, SingleNodeIsNeverSpread) {
  Play({{MakeNode("a", 4), MakeNode("b", 4)}, {}},
       {{.submit = {MakeGang("x", 2), MakeGang("y", 2), MakeGang("fills", 2)},
         .starts = "fills=b:0,1 x=a:0,1 y=a:2,3"},
        {.submit = {SingleNode(MakeGang("s", 4))}, .waits = "s:NoCapacity"},
        {.end = {"x"}, .waits = "s:NoCapacity"},
        {.end = {"y"}, .starts = "s=a:0,1,2,3"}});
}

TEST(ScheduleTest, AGangThatWaitsHoldsBackWorsePrioritiesButNotItsEquals) {
  Play({{MakeNode("a", 4)}, {}},
       {{.submit = {MakeGang("run", 2)}, .starts = "run=a:0,1"},
        {.submit = {MakeGang("large", 4, 40), MakeGang("equal", 1, 40), MakeGang("worse", 1, 41)},
         .starts = "equal=a:2",
         .waits = "large:NoCapacity worse:Behind"},
        {.end = {"run", "equal"}, .starts = "large=a:0,1,2,3", .waits = "worse:NoCapacity"}});
}

TEST(ScheduleTest, WhatIsInfeasibleHoldsBackNobody) {
  Play({{MakeNode("a", 2), MakeNode("b", 2)}, {}},
       {{.submit = {MakeGang("huge", 5, 1), SingleNode(MakeGang("wide", 3, 1)),
                    InPool(MakeGang("lost", 1, 1), "gpu"), MakeGang("small", 1, 99)},
         .starts = "small=a:0",
         .waits = "huge:Infeasible lost:Infeasible wide:Infeasible"}});
}

TEST(ScheduleTest, AnExperimentKeepsWithinItsMaxSlots) {
  Play({{MakeNode("a", 8)}, {}},
       {{.submit = {OfJob(MakeGang("a1", 2, 1), "j", 4), OfJob(MakeGang("a2", 2, 1), "j", 4),
                    OfJob(MakeGang("a3", 2, 1), "j", 4), MakeGang("other", 2, 99)},
         .starts = "a1=a:0,1 a2=a:2,3 other=a:4,5",
         .waits = "a3:OverMaxSlots"},
        {.end = {"a1"}, .starts = "a3=a:0,1"},
        {.submit = {OfJob(MakeGang("never", 5), "j", 4)}, .waits = "never:Infeasible"}});
}

TEST(ScheduleTest, GangsWithoutSlotsSpreadByCountAndIgnoreTheQueue) {
  Play({{MakeNode("a", 1), MakeNode("b", 0)}, {}},
       {{.submit = {MakeGang("z1", 0, 99), MakeGang("z2", 0, 99), MakeGang("z3", 0, 99),
                    MakeGang("x", 1), MakeGang("y", 1)},
         .starts = "x=a:0 z1=a: z2=b: z3=a:",
         .waits = "y:NoCapacity"}});
}

TEST(ScheduleTest, PoolsDoNotTouchEachOther) {
  Play({{MakeNode("a", 1), MakeNode("g", 2, "gpu")}, {}},
       {{.submit = {InPool(MakeGang("x", 2, 1), "gpu"), InPool(MakeGang("y", 2, 2), "gpu"),
                    InPool(MakeGang("w", 1, 3), "gpu"), MakeGang("z", 1, 99)},
         .starts = "x=g:0,1 z=a:0",
         .waits = "w:Behind y:NoCapacity"}});
}

TEST(ScheduleTest, ANodeThatAcceptsNoWorkIsWaitedFor) {
  Node away = MakeNode("b", 2);
  away.accepts_work = false;
  Play({{MakeNode("a", 2), away}, {}}, {{.submit = {MakeGang("x", 4), MakeGang("z", 0)},
                                         .starts = "z=a:",
                                         .waits = "x:NoCapacity"}});
  Play({{away}, {}}, {{.submit = {MakeGang("z", 0)}, .waits = "z:NoCapacity"}});
}

TEST(ScheduleTest, ReasonsSayTheNumbers) {
  const auto reason = [](const std::vector<Node>& nodes, const Gang& gang,
                         std::vector<Gang> others = {}) {
    others.push_back(gang);
    return Schedule({nodes, others}).waiting.at(gang.id).text;
  };
  const std::vector<Node> two = {MakeNode("a", 2), MakeNode("b", 2)};
  EXPECT_EQ(reason(two, MakeGang("g", 5)), "needs 5 slots; pool default has 4 in all");
  EXPECT_EQ(reason(two, SingleNode(MakeGang("g", 4))),
            "needs 4 slots on one agent; the largest agent of pool default has 2");
  EXPECT_EQ(reason(two, InPool(MakeGang("g", 1), "gpu")),
            "no agent is in resource pool \"gpu\"; pools with agents: default");
  EXPECT_EQ(reason({}, MakeGang("g", 1)),
            "no agent is in resource pool \"default\"; no agent is connected");
  Gang run = MakeGang("run", 1);
  run.running_on = {{AgentId("a"), {0}}};
  EXPECT_EQ(reason(two, MakeGang("g", 4), {run}), "needs 4 slots; 3 of 4 are free in pool default");
  EXPECT_EQ(reason({MakeNode("a", 2)}, SingleNode(MakeGang("g", 2)), {run}),
            "needs 2 slots on one agent; at most 1 are free on one of pool default");
  EXPECT_EQ(reason(two, MakeGang("g", 1, 50), {run, MakeGang("big", 4, 10)}),
            "waits behind big of priority 10, which needs 4 slots");
  EXPECT_EQ(reason(two, OfJob(MakeGang("g", 3), "j", 2)), "needs 3 slots; its max_slots is 2");
  run = OfJob(run, "j", 2);
  EXPECT_EQ(reason(two, OfJob(MakeGang("g", 2), "j", 2), {run}),
            "needs 2 slots; its experiment holds 1 of max_slots 2");
}

// ---- properties over random snapshots ----

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
  std::map<JobId, int> held;
  for (const Gang& gang : before.gangs) {
    const bool runs = !gang.running_on.empty() || plan.assign.contains(gang.id);
    held[gang.job] += runs ? gang.slots : 0;
  }
  for (const Gang& gang : before.gangs) {
    if (gang.job_max_slots && gang.slots > 0 && plan.assign.contains(gang.id)) {
      EXPECT_LE(held[gang.job], *gang.job_max_slots) << gang.job;
    }
  }
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
