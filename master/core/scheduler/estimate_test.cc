#include "master/core/scheduler/estimate.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/core/scheduler/testing/make.h"

namespace det::scheduler {
namespace {

using model::AllocationId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

Gang Running(const std::string& id, const std::string& agent, std::vector<int> slots,
             absl::Duration since = absl::Minutes(10)) {
  Gang gang = MakeGang(id, static_cast<int>(slots.size())).gang;
  gang.running_on = {{model::AgentId(agent), std::move(slots)}};
  gang.started_at = gang.saved_at = kNow - since;
  return gang;
}

Gang Waiting(const std::string& id, int slots) {
  Gang gang = MakeGang(id, slots).gang;
  gang.queued_at = kNow;
  return gang;
}

Snapshot Of(std::vector<Node> nodes, std::vector<Gang> gangs) {
  Snapshot snapshot{.now = kNow};
  snapshot.nodes = std::move(nodes);
  snapshot.gangs = std::move(gangs);
  for (const Gang& gang : snapshot.gangs) snapshot.jobs.push_back({.id = gang.job});
  return snapshot;
}

Estimate Of(const Snapshot& snapshot, const std::string& gang,
            const RuntimeStats& runtime_stats = {}, int max_steps = 1000) {
  const AllocationId id(gang);
  return EstimateStarts(snapshot, runtime_stats, {id}, max_steps).at(id);
}

TEST(EstimateTest, UsesMaxRunTimeOfRunningGangs) {
  Gang first = Running("a", "n1", {0, 1});
  first.max_run_time = absl::Minutes(30);
  const Estimate estimate = Of(Of({MakeNode("n1", 2)}, {first, Waiting("w", 2)}), "w");
  EXPECT_THAT(estimate.after, ElementsAre(AllocationId("a")));
  EXPECT_EQ(estimate.start, kNow + absl::Minutes(20));
  EXPECT_EQ(estimate.basis, "by the max_run_time of a");
}

TEST(EstimateTest, UsesRuntimeStats_WhenShorter) {
  Gang first = Running("a", "n1", {0});
  first.max_run_time = absl::Hours(10);
  const Snapshot snapshot = Of({MakeNode("n1", 1)}, {first, Waiting("w", 1)});
  const Estimate estimate = Of(snapshot, "w", {{first.job, absl::Minutes(15)}});
  EXPECT_EQ(estimate.start, kNow + absl::Minutes(5));
  EXPECT_EQ(estimate.basis, "by how long trials of job-a took");
  // The gang has already run longer than others did, so it may end at any moment.
  EXPECT_EQ(Of(snapshot, "w", {{first.job, absl::Minutes(5)}}).start, kNow);
}

TEST(EstimateTest, SimulatesGangsAheadInQueue) {
  Gang first = Running("a", "n1", {0});
  first.max_run_time = absl::Minutes(30);
  Gang second = Waiting("b", 1);
  second.max_run_time = absl::Hours(1);
  const Estimate estimate = Of(Of({MakeNode("n1", 1)}, {first, second, Waiting("w", 1)}), "w");
  EXPECT_THAT(estimate.after, ElementsAre(AllocationId("a"), AllocationId("b")));
  EXPECT_EQ(estimate.start, kNow + absl::Minutes(80));
}

TEST(EstimateTest, NamesGangsWithUnknownEnd) {
  const Estimate estimate =
      Of(Of({MakeNode("n1", 1)}, {Running("a", "n1", {0}), Waiting("w", 1)}), "w");
  EXPECT_THAT(estimate.after, ElementsAre(AllocationId("a")));
  EXPECT_EQ(estimate.start, std::nullopt);
  EXPECT_THAT(estimate.basis, HasSubstr("a has no max_run_time"));
}

TEST(EstimateTest, IgnoresUnknownEndOfUnrelatedGangs) {
  Gang known = Running("a", "n1", {0});
  known.max_run_time = absl::Minutes(30);
  const Estimate estimate =
      Of(Of({MakeNode("n1", 1), MakeNode("n2", 1)},
            {known, Running("b", "n2", {0}, absl::Hours(9)), Waiting("w", 1)}),
         "w");
  EXPECT_THAT(estimate.after, ElementsAre(AllocationId("a")));
  EXPECT_EQ(estimate.start, kNow + absl::Minutes(20));
}

TEST(EstimateTest, WaitsForSibling_WhenMaxSlotsIsReached) {
  Gang sibling = Running("a", "n1", {0});
  sibling.max_run_time = absl::Minutes(11);
  Gang waiting = Waiting("w", 1);
  waiting.job = sibling.job;
  Snapshot snapshot = Of({MakeNode("n1", 4)}, {sibling, waiting});
  snapshot.jobs = {{.id = sibling.job, .max_slots = 1}};
  const Estimate estimate = Of(snapshot, "w");
  EXPECT_EQ(estimate.start, kNow + absl::Minutes(1));
  EXPECT_THAT(estimate.after, ElementsAre(AllocationId("a")));
}

TEST(EstimateTest, ReportsInfeasibleGang) {
  const Estimate estimate = Of(Of({MakeNode("n1", 1)}, {Waiting("w", 64)}), "w");
  EXPECT_EQ(estimate.start, std::nullopt);
  EXPECT_THAT(estimate.after, IsEmpty());
  EXPECT_EQ(estimate.basis, "it cannot start unless the cluster changes");
}

TEST(EstimateTest, LimitsPasses) {
  std::vector<Gang> gangs = {Running("a", "n1", {0})};
  gangs[0].max_run_time = absl::Hours(1);
  for (int i = 0; i < 20; ++i) {
    gangs.push_back(Waiting("q" + std::to_string(i), 1));
    gangs.back().max_run_time = absl::Hours(1);
  }
  gangs.push_back(Waiting("w", 1));
  const Snapshot snapshot = Of({MakeNode("n1", 1)}, gangs);
  EXPECT_EQ(Of(snapshot, "w", {}, 10).start, std::nullopt);
  EXPECT_EQ(Of(snapshot, "w", {}, 10).basis, "too many allocations are ahead of it");
  EXPECT_NE(Of(snapshot, "w").start, std::nullopt);
}

TEST(EstimateTest, AssumesTerminatingGangsExitSoon) {
  Gang first = Running("a", "n1", {0});
  first.terminating = true;
  EXPECT_EQ(Of(Of({MakeNode("n1", 1)}, {first, Waiting("w", 1)}), "w").start, kNow);
}

}  // namespace
}  // namespace det::scheduler
