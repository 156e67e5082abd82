// Rounds under each policy, and starvation tests for all policies.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "master/core/scheduler/testing/rounds.h"
#include <gtest/gtest.h>

namespace det::scheduler {
namespace {

using model::SchedulingPolicy;

Snapshot Cluster(std::vector<Node> nodes, SchedulingPolicy policy = SchedulingPolicy::kPriority,
                 bool preemption = false) {
  Snapshot snapshot;
  snapshot.now = absl::UnixEpoch() + absl::Hours(100);
  snapshot.nodes = std::move(nodes);
  model::ResourcePool& pool = snapshot.pools.emplace_back();
  pool.name = "default";
  pool.policy = policy;
  pool.preemption = preemption;
  return snapshot;
}

Submission Takes(Submission made, absl::Duration time) {
  made.gang.max_run_time = time;
  return made;
}
Submission Of(Submission made, const std::string& workspace, const std::string& user) {
  made.job.workspace = workspace;
  made.job.user = user;
  return made;
}
Submission OnOne(Submission made) {
  made.gang.single_node = true;
  return made;
}

TEST(PriorityTest, PreemptsLeastUsefulGang) {
  Submission saved = MakeGang("saved", 2, 50);
  Submission lost = MakeGang("lost", 2, 50);
  Snapshot snapshot =
      Cluster({MakeNode("a", 2), MakeNode("b", 2)}, SchedulingPolicy::kPriority, true);
  snapshot = RunRounds(snapshot, {{.submit = {saved, lost}, .starts = "lost=b:0,1 saved=a:0,1"}});
  snapshot.now += absl::Hours(2);
  for (Gang& gang : snapshot.gangs) {
    if (gang.id.value() == "saved") gang.saved_at = snapshot.now - absl::Minutes(1);
  }
  RunRounds(snapshot,
            {{.submit = {MakeGang("high", 1, 10), MakeGang("equal", 1, 50)},
              .waits = "equal:AWAITING_PREEMPTION high:AWAITING_PREEMPTION",
              .preempts = "saved"},
             {.end = {"saved-"}, .starts = "equal=a:1 high=a:0", .waits = "saved:NO_CAPACITY"},
             {.end = {"lost"}, .starts = "saved=b:0,1"}});
}

TEST(PriorityTest, DoesNotPreempt_WhenSlotsWouldGoToHigherRankedGang) {
  Submission busy = MakeGang("busy", 3);
  busy.gang.preemptible = false;
  const auto cluster = Cluster({MakeNode("a", 5)}, SchedulingPolicy::kPriority, true);
  RunRounds(cluster, {{.submit = {busy, MakeGang("low", 1, 50)}, .starts = "busy=a:0,1,2 low=a:3"},
                      {.submit = {MakeGang("large", 4)}, .waits = "large:NO_CAPACITY"},
                      {.later = absl::Minutes(6),
                       .submit = {MakeGang("small", 1)},
                       .waits = "large:NO_CAPACITY small:BEHIND_OTHERS"},
                      {.end = {"low"}, .waits = "large:NO_CAPACITY small:BEHIND_OTHERS"},
                      {.end = {"busy"}, .starts = "large=a:0,1,2,3 small=a:4"}});
}

TEST(PriorityTest, DoesNotPreempt_WhenHigherRankedGangHasNoSlots) {
  Submission busy = MakeGang("busy", 4);
  busy.gang.preemptible = false;
  const auto cluster = Cluster({MakeNode("a", 5)}, SchedulingPolicy::kPriority, true);
  RunRounds(cluster,
            {{.submit = {busy, MakeGang("low", 1, 50)}, .starts = "busy=a:0,1,2,3 low=a:4"},
             {.submit = {MakeGang("large", 5)}, .waits = "large:NO_CAPACITY"},
             {.later = absl::Minutes(6),
              .submit = {MakeGang("small", 1)},
              .waits = "large:NO_CAPACITY small:NO_CAPACITY"},
             {.end = {"busy"},
              .waits = "large:AWAITING_PREEMPTION small:BEHIND_OTHERS",
              .preempts = "low"}});
}

TEST(PriorityTest, DoesNotPreempt_WhenHigherRankedGangNeedsSeveralNodes) {
  Submission busy = MakeGang("busy", 2);
  busy.gang.preemptible = false;
  const auto cluster =
      Cluster({MakeNode("a", 3), MakeNode("b", 1)}, SchedulingPolicy::kPriority, true);
  RunRounds(cluster,
            {{.submit = {MakeGang("low", 1, 50), busy}, .starts = "busy=a:0,1 low=a:2"},
             {.submit = {MakeGang("large", 4)}, .waits = "large:NO_CAPACITY"},
             {.later = absl::Minutes(6),
              .submit = {MakeGang("small", 1)},
              .waits = "large:NO_CAPACITY small:BEHIND_OTHERS"},
             {.end = {"low"}, .waits = "large:NO_CAPACITY small:BEHIND_OTHERS"},
             {.end = {"busy"}, .starts = "large=a:0,1,2+b:0", .waits = "small:NO_CAPACITY"}});
}

TEST(PriorityTest, PreemptsEqualPriority_WhenPositionWasSet) {
  Submission first = MakeGang("first", 2);
  first.job.position = 1;
  Submission second = MakeGang("second", 2);
  second.job.position = 2;
  const auto cluster = Cluster({MakeNode("a", 2)}, SchedulingPolicy::kPriority, true);
  Snapshot snapshot = RunRounds(cluster, {{.submit = {second}, .starts = "second=a:0,1"},
                                          {.submit = {first}, .waits = "first:NO_CAPACITY"}});
  snapshot.jobs.back().position_set = true;
  RunRounds(snapshot, {{.waits = "first:AWAITING_PREEMPTION", .preempts = "second"}});
}

TEST(PriorityTest, ClaimsAgainstEqualsOnlyAfterHoldTime) {
  RunRounds(Cluster({MakeNode("a", 4)}),
            {{.submit = {MakeGang("run", 2)}, .starts = "run=a:0,1"},
             {.submit = {MakeGang("large", 4, 42), MakeGang("worse", 1, 50)},
              .waits = "large:NO_CAPACITY worse:BEHIND_OTHERS"},
             {.submit = {MakeGang("equal", 1, 42)},
              .starts = "equal=a:2",
              .waits = "large:NO_CAPACITY worse:BEHIND_OTHERS"},
             {.later = absl::Minutes(6),
              .submit = {MakeGang("late", 1, 42)},
              .waits = "large:NO_CAPACITY late:BEHIND_OTHERS worse:BEHIND_OTHERS"},
             {.end = {"run", "equal"},
              .starts = "large=a:0,1,2,3",
              .waits = "late:NO_CAPACITY worse:NO_CAPACITY"}});
}

TEST(PriorityTest, BackfillsClaimedSlotsWithShortGangs) {
  RunRounds(
      Cluster({MakeNode("a", 4)}),
      {{.submit = {Takes(MakeGang("run", 2), absl::Hours(2))}, .starts = "run=a:0,1"},
       {.later = absl::Hours(1),
        .submit = {MakeGang("large", 4, 10), Takes(MakeGang("short", 1, 50), absl::Minutes(30)),
                   Takes(MakeGang("long", 1, 50), absl::Hours(2))},
        .starts = "short=a:2",
        .waits = "large:NO_CAPACITY long:BEHIND_OTHERS"}});
}

TEST(PriorityTest, MarksBackfilledAssignments) {
  Snapshot snapshot = Cluster({MakeNode("a", 4)});
  for (const Submission& made :
       {MakeGang("first", 2), MakeGang("large", 4), MakeGang("small", 1), MakeGang("without", 0)}) {
    Add(made, snapshot);
    snapshot.gangs.back().queued_at = snapshot.now;
  }
  const Plan plan = Schedule(snapshot).plan;
  ASSERT_EQ(Starts(plan), "first=a:0,1 small=a:2 without=a:");
  for (const Assignment& assignment : plan.assign) {
    EXPECT_EQ(assignment.backfilled, assignment.gang.value() == "small") << assignment.gang;
  }
}

TEST(PriorityTest, StartsInStrictOrder_WithoutBackfill) {
  Snapshot strict = Cluster({MakeNode("a", 4)});
  strict.pools[0].backfill = false;
  RunRounds(strict,
            {{.submit = {MakeGang("run", 2)}, .starts = "run=a:0,1"},
             {.submit = {MakeGang("large", 4), Takes(MakeGang("equal", 1), absl::Seconds(1))},
              .waits = "equal:BEHIND_OTHERS large:NO_CAPACITY"}});
}

TEST(FifoTest, IgnoresPriority) {
  RunRounds(Cluster({MakeNode("a", 1)}, SchedulingPolicy::kFifo),
            {{.submit = {MakeGang("x", 1, 99), MakeGang("y", 1, 1)},
              .starts = "x=a:0",
              .waits = "y:NO_CAPACITY"},
             {.end = {"x"}, .starts = "y=a:0"}});
}

TEST(FairShareTest, SharesByWorkspaceThenUserThenJob) {
  std::vector<Submission> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(Of(WithJob(MakeGang(absl::StrCat("p", i), 1), "p"), "w1", "ann"));
    all.push_back(Of(WithJob(MakeGang(absl::StrCat("q", i), 1), "q"), "w1", "bob"));
    all.push_back(Of(WithJob(MakeGang(absl::StrCat("r", i), 1), "r"), "w2", "cid"));
  }
  const std::vector<Node> nodes = {MakeNode("a", 4)};
  const Snapshot after = RunRounds(Cluster(nodes, SchedulingPolicy::kFairShare),
                                   {{.submit = all,
                                     .starts = "p0=a:0 q0=a:2 r0=a:1 r1=a:3",
                                     .waits = "p1:NO_CAPACITY p2:NO_CAPACITY p3:NO_CAPACITY "
                                              "q1:NO_CAPACITY q2:NO_CAPACITY q3:NO_CAPACITY "
                                              "r2:NO_CAPACITY r3:NO_CAPACITY"}});
  EXPECT_EQ(after.gangs.size(), 12u);
}

TEST(FairShareTest, PreemptsLargerShare_AfterMinimumRun) {
  std::vector<Submission> ann;
  for (int i = 0; i < 4; ++i) {
    ann.push_back(Of(WithJob(MakeGang(absl::StrCat("a", i), 1), "ann"), "w1", "ann"));
  }
  const Submission bob = Of(WithJob(MakeGang("b0", 1), "bob"), "w2", "bob");
  RunRounds(Cluster({MakeNode("n", 4)}, SchedulingPolicy::kFairShare, true),
            {{.submit = ann, .starts = "a0=n:0 a1=n:1 a2=n:2 a3=n:3"},
             {.later = absl::Minutes(5), .submit = {bob}, .waits = "b0:NO_CAPACITY"},
             {.later = absl::Minutes(6), .waits = "b0:AWAITING_PREEMPTION", .preempts = "a3"},
             {.end = {"a3-"}, .starts = "b0=n:3", .waits = "a3:NO_CAPACITY"},
             {.later = absl::Hours(1), .waits = "a3:NO_CAPACITY"}});
}

TEST(FairShareTest, CountsStartsOfSamePassBeforePreempting) {
  const auto fair = SchedulingPolicy::kFairShare;
  Snapshot snapshot = Cluster({MakeNode("a", 4), MakeNode("b", 2)}, fair, true);
  snapshot = RunRounds(snapshot, {{.submit = {OnOne(Of(MakeGang("theirs", 4), "w1", "u")),
                                              OnOne(Of(MakeGang("ends", 2), "w2", "u"))},
                                   .starts = "ends=b:0,1 theirs=a:0,1,2,3"}});
  // With both gangs, w2 would hold more than w1 without "theirs": the first starts, the second
  // waits.
  RunRounds(snapshot, {{.later = absl::Hours(1),
                        .end = {"ends"},
                        .submit = {OnOne(Of(MakeGang("starts", 2), "w2", "u")),
                                   OnOne(Of(MakeGang("waits", 1), "w2", "u"))},
                        .starts = "starts=b:0,1",
                        .waits = "waits:NO_CAPACITY"}});
}

TEST(FairShareTest, DoesNotPreempt_WhenVictimSideWouldHoldLess) {
  const auto fair = SchedulingPolicy::kFairShare;
  Snapshot snapshot = Cluster({MakeNode("a", 8)}, fair, true);
  snapshot = RunRounds(
      snapshot,
      {{.submit = {Of(MakeGang("w1-1", 3), "w1", "u1"), Of(MakeGang("w1-2", 1), "w1", "u2"),
                   Of(MakeGang("w2-1", 2), "w2", "u1"), Of(MakeGang("w2-2", 2), "w2", "u2")},
        .starts = "w1-1=a:0,1,2 w1-2=a:7 w2-1=a:3,4 w2-2=a:5,6"}});
  // u1 holds more of w1 than u2 would with one more gang, but not without its only gang.
  RunRounds(snapshot, {{.later = absl::Hours(1),
                        .submit = {Of(MakeGang("more", 1), "w1", "u2")},
                        .waits = "more:NO_CAPACITY"},
                       {.end = {"w1-2"}, .starts = "more=a:7"}});
}

TEST(LimitsTest, BlockOnlyTheirOwnGangs) {
  Snapshot snapshot = Cluster({MakeNode("a", 8)});
  snapshot.limits.push_back({.quota = {model::Quota::Scope::kUser, "ann", 2, {}}});
  snapshot.limits.push_back(
      {.quota = {model::Quota::Scope::kWorkspace, "w2", {}, 10}, .slot_hours_used = 10});
  RunRounds(
      snapshot,
      {{.submit = {Of(MakeGang("x", 2, 1), "w1", "ann"), Of(MakeGang("y", 1, 1), "w1", "ann"),
                   Of(MakeGang("z", 4, 1), "w1", "ann"), Of(MakeGang("spent", 1, 1), "w2", "bob"),
                   Of(MakeGang("other", 1, 99), "w1", "cid")},
        .starts = "other=a:2 x=a:0,1",
        .waits = "spent:OVER_QUOTA y:OVER_QUOTA z:OVER_QUOTA"},
       {.end = {"x"}, .starts = "y=a:0", .waits = "spent:OVER_QUOTA z:OVER_QUOTA"}});
}

// The example of Ghodsi et al. (NSDI 2011), with slots for memory: 9 cpus and 18 slots; ann's gangs
// take a cpu and four slots, bob's three cpus and one slot. Shares after k and l of them: 4k/18,
// 3l/9.
TEST(FairShareTest, ComparesDominantShares) {
  Node node = MakeNode("a", 18);
  node.cpus = 9;
  Snapshot snapshot = Cluster({node}, SchedulingPolicy::kFairShare);
  for (int i = 0; i < 5; ++i) {
    Submission ann = Of(WithJob(MakeGang(absl::StrCat("ann", i), 4), "of-ann"), "w", "ann");
    ann.gang.cpus = 0.25;
    Add(ann, snapshot);
    Submission bob = Of(WithJob(MakeGang(absl::StrCat("bob", i), 1), "of-bob"), "w", "bob");
    bob.gang.cpus = 3;
    Add(bob, snapshot);
  }
  std::vector<std::string> order;
  for (const Assignment& assignment : Schedule(snapshot).plan.assign) {
    order.push_back(assignment.gang.value());
  }
  EXPECT_EQ(absl::StrJoin(order, " "), "ann0 bob0 ann1 bob1 ann2");
}

TEST(FitTest, PrefersOneIslandAndOneSwitch) {
  Node node = MakeNode("a", 8);
  for (Slot& slot : node.slots) slot.island = slot.id % 2;
  RunRounds(Cluster({node}), {{.submit = {MakeGang("x", 4)}, .starts = "x=a:0,2,4,6"}});
  std::vector<Node> nodes;
  for (const char* name : {"a", "b", "c", "d"}) {
    nodes.push_back(MakeNode(name, 2));
    nodes.back().network_switch = nodes.size() % 2 == 0 ? "even" : "odd";
  }
  RunRounds(Cluster(nodes), {{.submit = {MakeGang("x", 4)}, .starts = "x=b:0,1+d:0,1"}});
}

TEST(FitTest, PlacesFractionsOnOneDevice) {
  Snapshot snapshot = Cluster({MakeNode("a", 2)});
  snapshot.pools[0].shared_devices = true;
  const auto half = [](const std::string& id) {
    Submission made = MakeGang(id, 1);
    made.gang.fraction = 0.5;
    return made;
  };
  RunRounds(snapshot, {{.submit = {half("x"), half("y"), half("z"), MakeGang("whole", 1)},
                        .starts = "x=a:0 y=a:0 z=a:1",
                        .waits = "whole:NO_CAPACITY"},
                       {.end = {"z"}, .starts = "whole=a:1"}});
}

TEST(FitTest, GrowsElasticGang) {
  const Submission run = MakeGang("run", 4);
  Submission elastic = MakeGang("e", 2);
  elastic.gang.max_slots = 8;
  RunRounds(Cluster({MakeNode("a", 8)}),
            {{.submit = {run, elastic}, .starts = "e=a:4,5,6,7 run=a:0,1,2,3"},
             {.later = absl::Minutes(5), .end = {"run"}},
             {.later = absl::Minutes(6), .preempts = "e"},
             {.end = {"e-"}, .starts = "e=a:0,1,2,3,4,5,6,7"}});
}

TEST(FitTest, GrowsElasticGang_WhenWaitingGangIsLimited) {
  const Submission run = MakeGang("run", 4);
  Submission over = WithJob(MakeGang("over", 2), "limited");
  over.job.max_slots = 2;
  Submission held = WithJob(MakeGang("held", 2), "limited");
  held.job.max_slots = 2;
  Submission elastic = MakeGang("e", 2);
  elastic.gang.max_slots = 8;
  RunRounds(Cluster({MakeNode("a", 8)}), {{.submit = {run, over, elastic, held},
                                           .starts = "e=a:6,7 over=a:4,5 run=a:0,1,2,3",
                                           .waits = "held:OVER_MAX_SLOTS"},
                                          {.later = absl::Minutes(11),
                                           .end = {"run"},
                                           .waits = "held:OVER_MAX_SLOTS",
                                           .preempts = "e"}});
}

TEST(FitTest, AvoidsNodesBeforeMaintenance) {
  Snapshot snapshot = Cluster({MakeNode("a", 2)});
  const absl::Time begin = snapshot.now + absl::Minutes(50);
  snapshot.nodes[0].maintenance = {{begin, begin + absl::Hours(1)}};
  RunRounds(snapshot,
            {{.submit = {MakeGang("long", 1), Takes(MakeGang("short", 1), absl::Minutes(40))},
              .starts = "short=a:0",
              .waits = "long:MAINTENANCE"},
             {.later = absl::Minutes(50), .waits = "long:NO_CAPACITY", .preempts = "short"},
             {.later = absl::Hours(1), .end = {"short"}, .starts = "long=a:0"}});
}

TEST(SchedulerTest, RejectsInfeasibleGangWithLargestFeasible) {
  Scheduler scheduler;
  scheduler.Put(MakeNode("a", 4));
  scheduler.Put(MakeNode("b", 4));
  EXPECT_TRUE(scheduler.CheckCanRun(MakeGang("g", 8).gang).ok());
  EXPECT_EQ(scheduler.CheckCanRun(MakeGang("g", 9).gang).message(),
            "needs 9 slots; pool default has 8 in all, and 4 on one agent");
  EXPECT_EQ(scheduler.CheckCanRun(OnOne(MakeGang("g", 5)).gang).message(),
            "needs 5 slots on one agent; the largest agent of pool default has 4");
}

// Small gangs arrive continuously and fill the cluster while large ones wait.
class Starvation : public ::testing::TestWithParam<SchedulingPolicy> {
 protected:
  static constexpr int kMinutes = 120;

  static void Submit(Submission made, Snapshot& snapshot) {
    Add(made, snapshot);
    snapshot.gangs.back().queued_at = snapshot.now;
  }

  // Whether all `large` gangs, which are submitted after 20 minutes, have started after two hours.
  // Small gangs run for ten minutes, large ones for one.
  static bool AllStart(Snapshot snapshot, const Submission& small, int each_minute,
                       const std::vector<Submission>& large) {
    std::set<std::string> missing;
    for (const Submission& made : large) missing.insert(made.gang.id.value());
    for (int minute = 0; minute < kMinutes && !missing.empty(); ++minute) {
      snapshot.now += absl::Minutes(1);
      std::erase_if(snapshot.gangs, [&](const Gang& gang) {
        const bool is_small = gang.id.value().starts_with("small");
        return !gang.running_on.empty() &&
               snapshot.now - gang.started_at >= absl::Minutes(is_small ? 10 : 1);
      });
      for (int i = 0; i < each_minute; ++i) {
        Submission made = MakeGang(absl::StrCat("small-", minute, "-", i), small.gang.slots);
        made.gang.cpus = small.gang.cpus;
        Submit(made, snapshot);
      }
      for (size_t i = 0; i < large.size() && minute == 20; ++i) Submit(large[i], snapshot);
      const Plan plan = Schedule(snapshot).plan;
      Apply(plan, snapshot);
      for (const Assignment& assignment : plan.assign) missing.erase(assignment.gang.value());
    }
    return missing.empty();
  }

  static Node WithCpus(Node node, double cpus) {
    node.cpus = cpus;
    return node;
  }
  static Submission RequestCpus(Submission made, double cpus) {
    made.gang.cpus = cpus;
    return made;
  }
};

TEST_P(Starvation, StartsGangThatNeedsWholeNode) {
  EXPECT_TRUE(AllStart(Cluster({MakeNode("a", 4), MakeNode("b", 4)}, GetParam()), MakeGang("s", 1),
                       4, {OnOne(MakeGang("large", 4))}));
}

TEST_P(Starvation, StartsGangThatNeedsAllNodes) {
  EXPECT_TRUE(AllStart(Cluster({MakeNode("a", 4), MakeNode("b", 4)}, GetParam()), MakeGang("s", 1),
                       4, {MakeGang("large", 8)}));
}

TEST_P(Starvation, StartsGangWithoutSlotsThatNeedsManyCpus) {
  const Snapshot cluster =
      Cluster({WithCpus(MakeNode("a", 1), 8), WithCpus(MakeNode("b", 1), 8)}, GetParam());
  EXPECT_TRUE(AllStart(cluster, RequestCpus(MakeGang("s", 0), 1), 4,
                       {RequestCpus(MakeGang("large", 0), 8)}));
}

TEST_P(Starvation, StartsGangWithSlotThatNeedsManyCpus) {
  const Snapshot cluster = Cluster({WithCpus(MakeNode("a", 2), 8)}, GetParam());
  const Submission large = RequestCpus(MakeGang("large", 1), 8);
  EXPECT_TRUE(AllStart(cluster, RequestCpus(MakeGang("s", 0), 1), 4, {large})) << "several nodes";
  EXPECT_TRUE(AllStart(cluster, RequestCpus(MakeGang("s", 0), 1), 4, {OnOne(large)})) << "one node";
}

TEST_P(Starvation, StartsMoreGangsThanClaims) {
  std::vector<Submission> large;
  for (int i = 0; i < 70; ++i) large.push_back(OnOne(MakeGang(absl::StrCat("large", i), 4)));
  std::vector<Node> nodes;
  for (int i = 0; i < 4; ++i) nodes.push_back(MakeNode(absl::StrCat("n", i), 4));
  EXPECT_TRUE(AllStart(Cluster(nodes, GetParam()), MakeGang("s", 1), 4, large));
}

INSTANTIATE_TEST_SUITE_P(Policies, Starvation,
                         ::testing::Values(SchedulingPolicy::kPriority, SchedulingPolicy::kFifo,
                                           SchedulingPolicy::kFairShare));

}  // namespace
}  // namespace det::scheduler
