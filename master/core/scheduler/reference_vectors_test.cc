// Determined's own scheduling test cases, with its results and those of this scheduler. The table
// of docs/scheduling.md that compares both explains differences; no test compares it with these
// cases.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "master/core/scheduler/testing/rounds.h"
#include <gtest/gtest.h>

namespace det::scheduler {
namespace {

struct Vector {
  std::string name;
  Snapshot snapshot;
  std::string theirs;  // "starts / preemptions", gangs by name
  std::string ours;    // empty: the same
};

std::string Answer(const Snapshot& snapshot) {
  const Plan plan = Schedule(snapshot).plan;
  std::set<std::string> starts, preempts;
  for (const Assignment& assignment : plan.assign) starts.insert(assignment.gang.value());
  for (const Preemption& preemption : plan.preempt) preempts.insert(preemption.victim.value());
  return absl::StrJoin(starts, " ") + " / " + absl::StrJoin(preempts, " ");
}

// Returns agents a, b, c... with these slots, and a pool with the policy.
Snapshot Cluster(const std::vector<int>& slots, const model::ResourcePool& pool) {
  Snapshot snapshot;
  snapshot.now = absl::UnixEpoch() + absl::Hours(1);
  snapshot.pools.push_back(pool);
  for (size_t i = 0; i < slots.size(); ++i) {
    snapshot.nodes.push_back(MakeNode(std::string(1, static_cast<char>('a' + i)), slots[i]));
  }
  return snapshot;
}

model::ResourcePool Pool(model::SchedulingPolicy policy, bool preemption = false) {
  model::ResourcePool pool;
  pool.name = "default";
  pool.policy = policy;
  pool.preemption = preemption;
  return pool;
}
const model::ResourcePool kPriority = Pool(model::SchedulingPolicy::kPriority);
const model::ResourcePool kPreemption = Pool(model::SchedulingPolicy::kPriority, true);
const model::ResourcePool kFair = Pool(model::SchedulingPolicy::kFairShare);

model::ResourcePool Homogeneous() {
  model::ResourcePool pool = kPriority;
  pool.heterogeneous = false;
  return pool;
}

Snapshot With(Snapshot snapshot, const std::vector<Submission>& made) {
  for (const Submission& each : made) {
    Add(each, snapshot);
    snapshot.gangs.back().queued_at = snapshot.now;
  }
  return snapshot;
}

const model::ResourcePool kFairPreemption = Pool(model::SchedulingPolicy::kFairShare, true);

Submission At(Submission made, double position) {
  made.job.position = position;
  made.job.position_set = true;
  return made;
}
Submission NotOn(Submission made, const std::vector<std::string>& agents) {
  for (const std::string& agent : agents) made.gang.blocked.push_back(model::AgentId(agent));
  return made;
}
Submission Fixed(Submission made) {
  made.gang.preemptible = false;
  return made;
}
Submission InJob(Submission made, const std::string& job, double max_slots, double weight = 1) {
  made.job.max_slots = max_slots;
  made.job.weight = weight;
  return WithJob(std::move(made), job);
}
std::vector<Submission> Many(int count, const std::string& job, int slots, double max_slots,
                             double weight = 1) {
  std::vector<Submission> made;
  for (int i = 0; i < count; ++i) {
    made.push_back(InJob(MakeGang(absl::StrCat(job, "-", i), slots), job, max_slots, weight));
  }
  return made;
}
std::vector<Submission> operator+(std::vector<Submission> a, const std::vector<Submission>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<Vector> FittingVectors() {
  const auto one = [](int slots) { return std::vector<Submission>{MakeGang("g", slots)}; };
  return {
      {"dedicated 10 on 1, 5, 10", With(Cluster({1, 5, 10}, Homogeneous()), one(10)), "g / ", ""},
      {"dedicated 16 on 5, 5, 5", With(Cluster({5, 5, 5}, Homogeneous()), one(16)), " / ", ""},
      {"dedicated 12 on 8, 8, 3, 3, 3", With(Cluster({8, 8, 3, 3, 3}, Homogeneous()), one(12)),
       " / ", ""},
      {"dedicated 8 on 4 x 5", With(Cluster({4, 4, 4, 4, 4}, Homogeneous()), one(8)), "g / ", ""},
      {"4 on 2, 1, 1, heterogeneous", With(Cluster({2, 1, 1}, kPriority), one(4)), "g / ", ""},
      {"4 on 2, 1, 1, dedicated", With(Cluster({2, 1, 1}, Homogeneous()), one(4)), " / ", ""},
      {"12 on 8, 8, 3, 3, 3, heterogeneous", With(Cluster({8, 8, 3, 3, 3}, kPriority), one(12)),
       " / ", "g / "},
      {"3 beside a running 1, on 2, 2",
       With(Cluster({2, 2}, kPriority), {RunningOn(MakeGang("r", 1), "a", {0}), MakeGang("g", 3)}),
       " / ", "g / "},
  };
}

std::vector<Vector> PriorityVectors() {
  const auto four_four = [](const model::ResourcePool& pool) { return Cluster({4, 4}, pool); };
  Snapshot no_aux = Cluster({4}, kPriority);
  no_aux.nodes[0].aux = 0;
  Snapshot one_aux = Cluster({0, 0}, kPreemption);
  for (Node& node : one_aux.nodes) node.aux = 1;
  Snapshot one_slot = Cluster({1}, kPriority);
  one_slot.nodes[0].aux = 1;
  return {
      {"aux limit 0", With(no_aux, {MakeGang("t1", 4, 40), MakeGang("t6", 0, 50)}), "t1 / ", ""},
      {"no preemption",
       With(four_four(kPriority),
            {MakeGang("t1", 4, 50), MakeGang("t2", 1, 50), MakeGang("t3", 1, 40),
             MakeGang("t4", 0, 40), MakeGang("t5", 4, 40), MakeGang("t6", 0, 50)}),
       "t2 t3 t4 t5 t6 / ", ""},
      {"after it, three more",
       With(four_four(kPriority),
            {MakeGang("t1", 4, 50), RunningOn(MakeGang("t2", 1, 50), "b", {0}),
             RunningOn(MakeGang("t3", 1, 40), "b", {1}), RunningOn(MakeGang("t4", 0, 40), "a", {}),
             RunningOn(MakeGang("t5", 4, 40), "a", {0, 1, 2, 3}),
             RunningOn(MakeGang("t6", 0, 50), "a", {}), MakeGang("n1", 1, 50),
             MakeGang("n2", 1, 50), MakeGang("n3", 1, 50)}),
       "n1 n2 / ", ""},
      {"all allocated",
       With(four_four(kPriority),
            {MakeGang("t1", 4, 50), MakeGang("t2", 1, 50), MakeGang("t3", 1, 40),
             MakeGang("t4", 1, 40), MakeGang("t5", 4, 40), MakeGang("t6", 1, 50)}),
       "t2 t3 t4 t5 t6 / ", ""},
      {"after it, two more",
       With(four_four(kPriority),
            {MakeGang("t1", 4, 50), RunningOn(MakeGang("t2", 1, 50), "b", {0}),
             RunningOn(MakeGang("t3", 1, 40), "b", {1}), RunningOn(MakeGang("t4", 1, 40), "b", {2}),
             RunningOn(MakeGang("t5", 4, 40), "a", {0, 1, 2, 3}),
             RunningOn(MakeGang("t6", 1, 50), "b", {3}), MakeGang("n1", 1, 40),
             MakeGang("n2", 1, 40)}),
       " / ", ""},
      {"no preemption by position",
       With(four_four(kPriority),
            {At(RunningOn(MakeGang("j1", 4), "a", {0, 1, 2, 3}), 1),
             At(RunningOn(MakeGang("j2", 4), "b", {0, 1, 2, 3}), 2), At(MakeGang("j3", 8), 1.5)}),
       " / ", ""},
      {"preemption by position, of too few",
       With(four_four(kPreemption),
            {At(RunningOn(MakeGang("j1", 4), "a", {0, 1, 2, 3}), 1),
             At(RunningOn(MakeGang("j2", 4), "b", {0, 1, 2, 3}), 2), At(MakeGang("j3", 8), 1.5)}),
       " / ", ""},
      {"queue stats: one slot, one place",
       With(one_slot,
            {MakeGang("j1", 1, 50), MakeGang("j2", 1, 40), MakeGang("j3", 0), MakeGang("j4", 0)}),
       "j2 j3 / ", ""},
      {"queue stats: two slots each on an agent of one",
       With(one_slot,
            {MakeGang("j1", 2, 50), MakeGang("j2", 2, 40), MakeGang("j3", 2), MakeGang("j4", 2)}),
       " / ", ""},
      {"a newcomer of higher priority moves ahead and takes nothing",
       With(one_slot, {RunningOn(MakeGang("low", 1, 50), "a", {0}), MakeGang("high", 1, 40)}),
       " / ", ""},
      {"high blocks low",
       With(four_four(kPriority), {RunningOn(MakeGang("t1", 4, 40), "a", {0, 1, 2, 3}),
                                   MakeGang("t2", 1, 50), MakeGang("t3", 8, 40)}),
       " / ", ""},
      {"too large for the pool blocks low",
       With(four_four(kPriority),
            {MakeGang("t1", 4, 50), MakeGang("t2", 1, 50), MakeGang("t3", 12, 40)}),
       " / ", "t1 t2 / "},
      {"preemption",
       With(four_four(kPreemption),
            {MakeGang("low", 1, 50), RunningOn(MakeGang("medium", 4, 45), "a", {0, 1, 2, 3}),
             RunningOn(MakeGang("high", 4, 40), "b", {0, 1, 2, 3}), MakeGang("high4", 4, 40),
             MakeGang("high8", 8, 40)}),
       " / medium", ""},
      {"useless victims",
       With(Cluster({4, 4, 1}, kPreemption),
            {RunningOn(MakeGang("medium", 4, 45), "a", {0, 1, 2, 3}),
             RunningOn(MakeGang("high", 4, 40), "b", {0, 1, 2, 3}),
             RunningOn(MakeGang("low", 1, 50), "c", {0}), MakeGang("high4", 4, 40)}),
       " / low medium", " / medium"},
      {"0-slot preemption",
       With(one_aux, {RunningOn(MakeGang("medium", 0, 45), "a", {}),
                      RunningOn(MakeGang("high", 0, 40), "b", {}), MakeGang("low", 0, 50),
                      MakeGang("high2", 0, 40)}),
       " / medium", ""},
      {"non-preemptible is never preempted",
       With(Cluster({4}, kPreemption),
            {Fixed(RunningOn(MakeGang("low", 4, 50), "a", {0, 1, 2, 3})), MakeGang("high", 4, 40)}),
       " / ", ""},
  };
}

std::vector<Vector> FairVectors() {
  const auto at = [](int count, const std::string& job, double max_slots) {
    std::vector<Submission> made = Many(count, job, 1, max_slots);
    for (int i = 0; i < count; ++i) {
      made[static_cast<size_t>(i)] = RunningOn(made[static_cast<size_t>(i)], "a", {i});
      made[static_cast<size_t>(i)].gang.started_at = absl::UnixEpoch() + absl::Minutes(count - i);
    }
    return made;
  };
  Snapshot one_slot = Cluster({1}, kFair);
  one_slot.nodes[0].aux = 1;
  return {
      {"queue stats: one slot, one place",
       With(one_slot, {MakeGang("j1", 1), MakeGang("j2", 1), MakeGang("j3", 0), MakeGang("j4", 0)}),
       "j1 j3 / ", ""},
      {"queue stats: two slots each on an agent of one",
       With(one_slot, {MakeGang("j1", 2), MakeGang("j2", 2), MakeGang("j3", 2), MakeGang("j4", 2)}),
       " / ", ""},
      {"4 and 1 on four slots",
       With(Cluster({4}, kFair), {RunningOn(MakeGang("x", 4), "a", {0, 1, 2, 3}),
                                  RunningOn(MakeGang("y", 1), "a", {0})}),
       " / x", " / "},
      {"two on one slot, one of them non-preemptible",
       With(Cluster({1}, kFair),
            {Fixed(RunningOn(MakeGang("x", 1), "a", {0})), RunningOn(MakeGang("y", 1), "a", {0})}),
       " / y", " / "},
      {"blocked: the other starts",
       With(Cluster({4}, kFair), {NotOn(MakeGang("t1", 4), {"a"}), MakeGang("t2", 4)}), "t2 / ",
       ""},
      {"blocked from two of four",
       With(Cluster({4, 4, 4, 4}, kFair),
            {NotOn(MakeGang("t1", 8), {"a", "b"}), NotOn(MakeGang("t2", 8), {"a", "b"})}),
       "t1 t2 / ", "t1 / "},
      {"blocked, with preemption",
       With(Cluster({4, 4}, kFairPreemption),
            {WithJob(RunningOn(MakeGang("t1", 4), "a", {0, 1, 2, 3}), "g1"),
             NotOn(MakeGang("t2", 4), {"a"}),
             WithJob(RunningOn(MakeGang("t3", 4), "b", {0, 1, 2, 3}), "g1")}),
       "t2 / t3", " / t3"},
      {"blocked everywhere",
       With(Cluster({4, 4}, kFairPreemption),
            {NotOn(MakeGang("t1", 4), {"a", "b"}), RunningOn(MakeGang("t2", 4), "a", {0, 1, 2, 3}),
             RunningOn(MakeGang("t3", 4), "b", {0, 1, 2, 3})}),
       " / ", ""},
      {"max_slots 1 beside four",
       With(Cluster({4}, kFair), Many(4, "g1", 1, 1) + Many(4, "g2", 1, 9)),
       "g1-0 g2-0 g2-1 g2-2 / ", ""},
      {"weights 10 and 30",
       With(Cluster({8}, kFair), Many(3, "g1", 1, 9, 10) + Many(7, "g2", 1, 9, 30)),
       "g1-0 g1-1 g2-0 g2-1 g2-2 g2-3 g2-4 g2-5 / ", ""},
      {"two of 4 on 4 and 4", With(Cluster({4, 4}, kFair), {MakeGang("x", 4), MakeGang("y", 4)}),
       "x y / ", ""},
      {"4 run, max_slots 2", With(Cluster({4}, kFair), at(4, "g1", 2)), " / g1-0 g1-1", ""},
      {"2 wait beside 1 and 1, max_slots 2",
       With(Cluster({2, 2}, kFair),
            {InJob(MakeGang("w", 2), "j", 2), InJob(RunningOn(MakeGang("x", 1), "a", {0}), "j", 2),
             InJob(RunningOn(MakeGang("y", 1), "b", {0}), "j", 2)}),
       " / ", ""},
      {"two of 2 on 2", With(Cluster({2}, kFair), {MakeGang("x", 2), MakeGang("y", 2)}), "x / ",
       ""},
      {"5 and 4 on 4", With(Cluster({4}, kFair), {MakeGang("x", 5), MakeGang("y", 4)}), "y / ", ""},
      {"4 + 3 slots, four groups",
       With(Cluster({4, 3}, kFair), {MakeGang("g1", 3), WithJob(MakeGang("g2", 1), "g2"),
                                     WithJob(RunningOn(MakeGang("g2r", 1), "b", {0}), "g2"),
                                     MakeGang("g3", 4), MakeGang("g4", 1)}),
       "g1 g2 g4 / ", ""},
      {"two on one slot",
       With(Cluster({1}, kFair),
            {RunningOn(MakeGang("x", 1), "a", {0}), RunningOn(MakeGang("y", 1), "a", {0})}),
       " / y", " / "},
  };
}

class ReferenceVectors : public ::testing::TestWithParam<Vector> {};

TEST_P(ReferenceVectors, Pass) {
  const Vector& v = GetParam();
  EXPECT_EQ(Answer(v.snapshot), v.ours.empty() ? v.theirs : v.ours);
}

std::string GetName(const ::testing::TestParamInfo<Vector>& info) {
  std::string name;
  for (const char c : info.param.name)
    name += absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Fitting, ReferenceVectors, ::testing::ValuesIn(FittingVectors()), GetName);
INSTANTIATE_TEST_SUITE_P(Priority, ReferenceVectors, ::testing::ValuesIn(PriorityVectors()),
                         GetName);
INSTANTIATE_TEST_SUITE_P(Fair, ReferenceVectors, ::testing::ValuesIn(FairVectors()), GetName);

TEST(ReferenceVectorsTest, ChoosesSameNode) {
  const auto node = [](const std::vector<int>& slots, const std::vector<int>& used,
                       int slots_requested, model::FittingPolicy fitting) {
    model::ResourcePool pool = kPriority;
    pool.fitting = fitting;
    Snapshot snapshot = Cluster(slots, pool);
    for (size_t i = 0; i < used.size(); ++i) {
      for (int s = 0; s < used[i]; ++s) {
        Add(RunningOn(MakeGang(absl::StrCat("r", i, s), 1),
                      std::string(1, static_cast<char>('a' + i)), {s}),
            snapshot);
      }
    }
    Submission made = MakeGang("g", slots_requested);
    made.gang.single_node = true;
    Add(made, snapshot);
    return Schedule(snapshot).plan.assign.at(0).on.at(0).agent.value();
  };
  constexpr auto kBest = model::FittingPolicy::kBest;
  constexpr auto kWorst = model::FittingPolicy::kWorst;
  EXPECT_EQ(node({2, 4}, {}, 2, kBest), "a");
  EXPECT_EQ(node({4, 1}, {}, 1, kBest), "b");
  EXPECT_EQ(node({2, 4}, {1, 1}, 1, kWorst), "b");
  EXPECT_EQ(node({2, 5}, {1, 3}, 1, kWorst), "a");
  EXPECT_EQ(node({1, 3}, {}, 2, kBest), "b");
  // Nine slots are free on both nodes: a tie.
  EXPECT_EQ(node({9, 10}, {0, 1}, 1, kBest), "a");
  EXPECT_EQ(node({10, 9}, {1, 0}, 1, kBest), "a");
  EXPECT_EQ(node({10, 10}, {5, 0}, 1, kWorst), "b");
  EXPECT_EQ(node({1, 10}, {0, 0}, 1, kWorst), "a");
  EXPECT_EQ(node({1, 10}, {1, 5}, 1, kWorst), "b");
  EXPECT_EQ(node({1, 2}, {}, 0, kBest), "a");
}

TEST(ReferenceVectorsTest, ChoosesSameAgent_WhateverTheOrder) {
  Snapshot snapshot = Cluster({0, 0}, kPriority);
  snapshot.nodes[0].aux = 2;
  snapshot.nodes[1].aux = 4;
  for (const char* running : {"r1", "r2"}) Add(RunningOn(MakeGang(running, 0), "b", {}), snapshot);
  Add(MakeGang("g", 0), snapshot);
  EXPECT_EQ(Starts(Schedule(snapshot).plan), "g=a:");
  std::swap(snapshot.nodes[0], snapshot.nodes[1]);
  EXPECT_EQ(Starts(Schedule(snapshot).plan), "g=a:");
}

// Gangs with and without slots.
TEST(ReferenceVectorsTest, SortsByPriorityThenSubmission) {
  Scheduler scheduler;
  scheduler.Put(kPriority);
  scheduler.Put(MakeNode("a", 4));
  const auto put = [&](const char* id, int priority, int slots, int64_t submitted) {
    Submission made = MakeGang(id, slots, priority);
    made.gang.submitted = submitted;
    scheduler.Put(made.job);
    scheduler.Put(made.gang);
  };
  put("t1", 50, 4, 2);
  put("t2", 50, 1, 1);
  put("t3", 40, 0, 2);
  put("t4", 40, 0, 1);
  put("t5", 40, 4, 4);
  put("t6", 40, 4, 3);
  scheduler.Pass(absl::UnixEpoch());
  std::string queue;
  for (const model::AllocationId& id : scheduler.Queue("default")) queue += id.value() + " ";
  EXPECT_EQ(queue, "t4 t3 t6 t5 t2 t1 ");
}

TEST(ReferenceVectorsTest, PrefersFewerNodes) {
  // Determined prefers equal nodes, four with one slot each; this scheduler uses the fewest nodes.
  const Snapshot snapshot = With(Cluster({2, 1, 1, 1, 1}, kPriority), {MakeGang("g", 4)});
  EXPECT_EQ(Schedule(snapshot).plan.assign.at(0).on.size(), 3u);
}

TEST(ReferenceVectorsTest, SkipsBlockedNodes) {
  Submission made = MakeGang("g", 1);
  made.gang.blocked = {model::AgentId("a")};
  EXPECT_EQ(Starts(Schedule(With(Cluster({1, 1}, kPriority), {made})).plan), "g=b:0");
  made.gang.blocked = {model::AgentId("a"), model::AgentId("b")};
  EXPECT_EQ(Starts(Schedule(With(Cluster({1, 1}, kPriority), {made})).plan), "");
}

}  // namespace
}  // namespace det::scheduler
