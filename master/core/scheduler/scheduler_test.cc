#include "master/core/scheduler/scheduler.h"

#include <string>
#include <utility>
#include <vector>

#include "master/core/scheduler/testing/rounds.h"
#include <gtest/gtest.h>

namespace det::scheduler {
namespace {

Submission OfJob(Submission made, const std::string& job, int max_slots) {
  made.job.max_slots = max_slots;
  return OfJob(made, job);
}
Submission SingleNode(Submission made) {
  made.gang.single_node = true;
  return made;
}
Submission InPool(Submission made, const std::string& pool) {
  made.gang.resource_pool = pool;
  return made;
}
Snapshot Of(std::vector<Node> nodes) {
  Snapshot snapshot;
  snapshot.nodes = std::move(nodes);
  return snapshot;
}

TEST(ScheduleTest, EmptyClusterAndEmptyQueue) {
  EXPECT_EQ(Schedule({}).plan, Plan{});
  Play(Of({MakeNode("a", 2)}), {{.starts = "", .waits = ""}});
}

TEST(ScheduleTest, PlacesInOrderOfPriorityThenSubmission) {
  Play(Of({MakeNode("a", 2)}),
       {{.submit = {MakeGang("low", 1, 50), MakeGang("first", 1), MakeGang("second", 1)},
         .starts = "first=a:0 second=a:1",
         .waits = "low:NO_CAPACITY"},
        {.end = {"second"}, .starts = "low=a:1"}});
}

TEST(ScheduleTest, TakesTheNodeWithTheFewestFreeSlotsThatSuffices) {
  Play(Of({MakeNode("big", 8), MakeNode("b", 3), MakeNode("a", 3), MakeNode("one", 1)}),
       {{.submit = {MakeGang("g", 2)}, .starts = "g=a:0,1"},
        {.submit = {MakeGang("h", 1)}, .starts = "h=a:2"},
        {.submit = {MakeGang("i", 2)}, .starts = "i=b:0,1"},
        {.submit = {MakeGang("j", 4)}, .starts = "j=big:0,1,2,3"}});
}

TEST(ScheduleTest, SpreadsAGangOverTheFewestNodesAndFillsTheLastBest) {
  Play(Of({MakeNode("a", 4), MakeNode("b", 2), MakeNode("c", 3), MakeNode("d", 1)}),
       {{.submit = {MakeGang("six", 6)}, .starts = "six=a:0,1,2,3+b:0,1"},
        {.submit = {MakeGang("four", 4)}, .starts = "four=c:0,1,2+d:0"}});
}

TEST(ScheduleTest, UsesPartlyOccupiedNodesForALargeGang) {
  Play(Of({MakeNode("a", 4), MakeNode("b", 4)}),
       {{.submit = {MakeGang("x", 1), MakeGang("y", 7)}, .starts = "x=a:0 y=b:0,1,2,3+a:1,2,3"}});
}

TEST(ScheduleTest, SingleNodeIsNeverSpread) {
  Play(Of({MakeNode("a", 4), MakeNode("b", 4)}),
       {{.submit = {MakeGang("x", 2), MakeGang("y", 2), MakeGang("fills", 2)},
         .starts = "fills=b:0,1 x=a:0,1 y=a:2,3"},
        {.submit = {SingleNode(MakeGang("s", 4))}, .waits = "s:NO_CAPACITY"},
        {.end = {"x"}, .waits = "s:NO_CAPACITY"},
        {.end = {"y"}, .starts = "s=a:0,1,2,3"}});
}

TEST(ScheduleTest, AGangThatWaitsHoldsBackWorsePrioritiesButNotItsEquals) {
  Play(Of({MakeNode("a", 4)}),
       {{.submit = {MakeGang("run", 2)}, .starts = "run=a:0,1"},
        {.submit = {MakeGang("large", 4, 40), MakeGang("equal", 1, 40), MakeGang("worse", 1, 41)},
         .starts = "equal=a:2",
         .waits = "large:NO_CAPACITY worse:BEHIND_OTHERS"},
        {.end = {"run", "equal"}, .starts = "large=a:0,1,2,3", .waits = "worse:NO_CAPACITY"}});
}

TEST(ScheduleTest, WhatIsInfeasibleHoldsBackNobody) {
  Play(Of({MakeNode("a", 2), MakeNode("b", 2)}),
       {{.submit = {MakeGang("huge", 5, 1), SingleNode(MakeGang("wide", 3, 1)),
                    InPool(MakeGang("lost", 1, 1), "gpu"), MakeGang("small", 1, 99)},
         .starts = "small=a:0",
         .waits = "huge:INFEASIBLE lost:INFEASIBLE wide:INFEASIBLE"}});
}

TEST(ScheduleTest, AnExperimentKeepsWithinItsMaxSlots) {
  Play(Of({MakeNode("a", 8)}),
       {{.submit = {OfJob(MakeGang("a1", 2, 1), "j", 4), OfJob(MakeGang("a2", 2, 1), "j", 4),
                    OfJob(MakeGang("a3", 2, 1), "j", 4), MakeGang("other", 2, 99)},
         .starts = "a1=a:0,1 a2=a:2,3 other=a:4,5",
         .waits = "a3:OVER_MAX_SLOTS"},
        {.end = {"a1"}, .starts = "a3=a:0,1"},
        {.submit = {OfJob(MakeGang("never", 5), "j", 4)}, .waits = "never:INFEASIBLE"}});
}

TEST(ScheduleTest, GangsWithoutSlotsSpreadByCountAndIgnoreTheQueue) {
  Play(Of({MakeNode("a", 1), MakeNode("b", 0)}),
       {{.submit = {MakeGang("z1", 0, 99), MakeGang("z2", 0, 99), MakeGang("z3", 0, 99),
                    MakeGang("x", 1), MakeGang("y", 1)},
         .starts = "x=a:0 z1=a: z2=b: z3=a:",
         .waits = "y:NO_CAPACITY"}});
}

TEST(ScheduleTest, PoolsDoNotTouchEachOther) {
  Play(Of({MakeNode("a", 1), MakeNode("g", 2, "gpu")}),
       {{.submit = {InPool(MakeGang("x", 2, 1), "gpu"), InPool(MakeGang("y", 2, 2), "gpu"),
                    InPool(MakeGang("w", 1, 3), "gpu"), MakeGang("z", 1, 99)},
         .starts = "x=g:0,1 z=a:0",
         .waits = "w:NO_CAPACITY y:NO_CAPACITY"}});
}

TEST(ScheduleTest, ANodeThatAcceptsNoWorkIsWaitedForWithoutHoldingBackOthers) {
  Node away = MakeNode("b", 2);
  away.accepts_work = false;
  Play(Of({MakeNode("a", 2), away}), {{.submit = {MakeGang("x", 4), MakeGang("z", 0)},
                                       .starts = "z=a:",
                                       .waits = "x:NO_CAPACITY"}});
  Play(Of({away}), {{.submit = {MakeGang("z", 0)}, .waits = "z:NO_CAPACITY"}});
}

std::string ReasonFor(const std::vector<Node>& nodes, const Submission& made,
                      const std::vector<Submission>& others = {}) {
  Snapshot snapshot = Of(nodes);
  for (const Submission& other : others) Add(other, snapshot);
  Add(made, snapshot);
  return Schedule(snapshot).waiting.at(made.gang.id).text;
}

TEST(ScheduleTest, ReasonsSayTheNumbers) {
  const std::vector<Node> two = {MakeNode("a", 2), MakeNode("b", 2)};
  EXPECT_EQ(ReasonFor(two, MakeGang("g", 5)),
            "needs 5 slots; pool default has 4 in all, and 2 on one agent");
  EXPECT_EQ(ReasonFor(two, SingleNode(MakeGang("g", 4))),
            "needs 4 slots on one agent; the largest agent of pool default has 2");
  EXPECT_EQ(ReasonFor(two, InPool(MakeGang("g", 1), "gpu")),
            "no agent is in resource pool \"gpu\"; pools with agents: default");
  EXPECT_EQ(ReasonFor({}, MakeGang("g", 1)),
            "no agent is in resource pool \"default\"; no agent is connected");
  const Submission run = RunningOn(MakeGang("run", 1), "a", {0});
  EXPECT_EQ(ReasonFor(two, MakeGang("g", 4), {run}),
            "needs 4 slots; 3 of 4 are free in pool default");
  EXPECT_EQ(ReasonFor({MakeNode("a", 2)}, SingleNode(MakeGang("g", 2)), {run}),
            "needs 2 slots on one agent; at most 1 are free on one of pool default");
  EXPECT_EQ(ReasonFor(two, MakeGang("g", 1, 50), {run, MakeGang("big", 4, 10)}),
            "waits behind big of priority 10, which needs 4 slots");
  EXPECT_EQ(ReasonFor(two, OfJob(MakeGang("g", 3), "j", 2)), "needs 3 slots; its max_slots is 2");
  EXPECT_EQ(ReasonFor(two, OfJob(MakeGang("g", 2), "j", 2), {OfJob(run, "j", 2)}),
            "needs 2 slots; its experiment holds 1 of max_slots 2");
}

}  // namespace
}  // namespace det::scheduler
