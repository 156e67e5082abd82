// The predecessor's own cases (scheduling, sections 4.2 to 4.4 of what is known of it), with what
// it does and what this scheduler does. Where the two differ, docs/scheduling.md says why:
// kDifferent and its table there are the same list.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "master/scheduler/testing/rounds.h"
#include <gtest/gtest.h>

namespace det::scheduler {
namespace {

struct Vector {
  std::string name;
  Snapshot snapshot;
  std::string theirs;  // "starts / asked away", gangs by name
  std::string ours;    // empty: the same
};

std::string Answer(const Snapshot& snapshot) {
  const Plan plan = Schedule(snapshot).plan;
  std::set<std::string> starts, asks;
  for (const Assignment& assignment : plan.assign) starts.insert(assignment.gang.value());
  for (const Preemption& preemption : plan.preempt) asks.insert(preemption.victim.value());
  return absl::StrJoin(starts, " ") + " / " + absl::StrJoin(asks, " ");
}

// Agents a, b, c... of so many slots, and a pool of the policy.
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

Submission Fixed(Submission made) {
  made.gang.preemptible = false;
  return made;
}
Submission InJob(Submission made, const std::string& job, double max_slots, double weight = 1) {
  made.job.max_slots = max_slots;
  made.job.weight = weight;
  return OfJob(std::move(made), job);
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
      {"3 beside 1 that runs, on 2, 2",
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
  return {
      {"aux limit 0", With(no_aux, {MakeGang("t1", 4, 40), MakeGang("t6", 0, 50)}), "t1 / ", ""},
      {"no preemption",
       With(four_four(kPriority),
            {MakeGang("t1", 4, 50), MakeGang("t2", 1, 50), MakeGang("t3", 1, 40),
             MakeGang("t4", 0, 40), MakeGang("t5", 4, 40), MakeGang("t6", 0, 50)}),
       "t2 t3 t4 t5 t6 / ", ""},
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
      {"non-preemptible is never asked",
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
  return {
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
       With(Cluster({4, 3}, kFair), {MakeGang("g1", 3), OfJob(MakeGang("g2", 1), "g2"),
                                     OfJob(RunningOn(MakeGang("g2r", 1), "b", {0}), "g2"),
                                     MakeGang("g3", 4), MakeGang("g4", 1)}),
       "g1 g2 g4 / ", ""},
      {"two on one slot",
       With(Cluster({1}, kFair),
            {RunningOn(MakeGang("x", 1), "a", {0}), RunningOn(MakeGang("y", 1), "a", {0})}),
       " / y", " / "},
  };
}

class ReferenceVectors : public ::testing::TestWithParam<Vector> {};

TEST_P(ReferenceVectors, Hold) {
  const Vector& v = GetParam();
  EXPECT_EQ(Answer(v.snapshot), v.ours.empty() ? v.theirs : v.ours);
}

std::string NameOf(const ::testing::TestParamInfo<Vector>& info) {
  std::string name;
  for (const char c : info.param.name)
    name += absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Fitting, ReferenceVectors, ::testing::ValuesIn(FittingVectors()), NameOf);
INSTANTIATE_TEST_SUITE_P(Priority, ReferenceVectors, ::testing::ValuesIn(PriorityVectors()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Fair, ReferenceVectors, ::testing::ValuesIn(FairVectors()), NameOf);

TEST(ReferenceVectorsTest, FitTakesTheNodeTheyTake) {
  const auto node = [](const std::vector<int>& slots, const std::vector<int>& used, int asked,
                       model::FittingPolicy fitting) {
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
    Submission made = MakeGang("g", asked);
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
}

TEST(ReferenceVectorsTest, FourOnTwoAndFourOnesPrefersFewerNodes) {
  // They prefer equal nodes, four of one slot; we the fewest.
  const Snapshot snapshot = With(Cluster({2, 1, 1, 1, 1}, kPriority), {MakeGang("g", 4)});
  EXPECT_EQ(Schedule(snapshot).plan.assign.at(0).on.size(), 3u);
}

TEST(ReferenceVectorsTest, BlockedNodes) {
  Submission made = MakeGang("g", 1);
  made.gang.blocked = {model::AgentId("a")};
  EXPECT_EQ(Starts(Schedule(With(Cluster({1, 1}, kPriority), {made})).plan), "g=b:0");
  made.gang.blocked = {model::AgentId("a"), model::AgentId("b")};
  EXPECT_EQ(Starts(Schedule(With(Cluster({1, 1}, kPriority), {made})).plan), "");
}

}  // namespace
}  // namespace det::scheduler
