#include "master/scheduler/scheduler.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "master/scheduler/testing/make.h"
#include <gtest/gtest.h>

namespace det::scheduler {
namespace {

using model::AgentId;
using model::JobId;
using model::Placement;

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

TEST(ScheduleTest, ANodeThatAcceptsNoWorkIsWaitedForWithoutHoldingBackOthers) {
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

}  // namespace
}  // namespace det::scheduler
