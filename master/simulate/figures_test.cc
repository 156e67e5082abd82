#include "master/simulate/figures.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::simulate {
namespace {

using absl::Seconds;
using ::testing::ElementsAre;

Job Make(int arrival, int slots, int length, const std::string& user = "ada") {
  return {.arrival = Seconds(arrival), .slots = slots, .length = Seconds(length), .user = user};
}

// Returns a job that ran once, from begin to end.
JobRecord Ran(int begin, int end) {
  JobRecord record;
  record.runs = {{Seconds(begin), Seconds(end)}};
  record.completed = true;
  return record;
}

TEST(Bound, LimitsSlotSecondsByArrivalsAndSlots) {
  // 40 slot seconds at 0 on 4 slots: done at 10; nothing until 15; then 8 slots' worth.
  const Workload jobs = {Make(0, 4, 10), Make(15, 8, 100)};
  EXPECT_EQ(ComputeSlotSecondsBound(jobs, 4, Seconds(5)), 20);
  EXPECT_EQ(ComputeSlotSecondsBound(jobs, 4, Seconds(15)), 40);
  EXPECT_EQ(ComputeSlotSecondsBound(jobs, 4, Seconds(20)), 60);
}

TEST(Bound, LimitsJobByItsOwnSlots) {
  EXPECT_EQ(ComputeSlotSecondsBound({Make(0, 1, 100)}, 4, Seconds(20)), 20);
  EXPECT_EQ(ComputeSlotSecondsBound({Make(15, 1, 100)}, 4, Seconds(20)), 5);
  EXPECT_EQ(ComputeSlotSecondsBound({Make(25, 1, 100)}, 4, Seconds(20)), 0);
}

TEST(Bound, BoundsMakespan) {
  EXPECT_EQ(ComputeMakespanBound({Make(0, 4, 10), Make(0, 4, 10)}, 4), Seconds(20));
  EXPECT_EQ(ComputeMakespanBound({Make(0, 1, 50), Make(30, 1, 40)}, 4), Seconds(70));
  EXPECT_EQ(ComputeMakespanBound({Make(0, 4, 10), Make(100, 4, 10)}, 4), Seconds(110));
}

TEST(Quantile, UsesNearestRank) {
  std::vector<absl::Duration> waits;
  EXPECT_EQ(Quantile(waits, 0.5), absl::ZeroDuration());
  for (int i = 1; i <= 10; ++i) waits.push_back(Seconds(i));
  EXPECT_EQ(Quantile(waits, 0.5), Seconds(5));
  EXPECT_EQ(Quantile(waits, 0.9), Seconds(9));
  EXPECT_EQ(Quantile(waits, 0.99), Seconds(10));
  EXPECT_EQ(Quantile(waits, 1), Seconds(10));
}

class FiguresTest : public ::testing::Test {
 protected:
  FiguresTest() { options_.agents = {{1, 4}}; }

  Options options_;
  // Until 30, when the last arrives: 4 slots for 10 s, and 2 slots from 20 on.
  Workload workload_ = {Make(0, 4, 10), Make(10, 2, 40, "bob"), Make(30, 4, 10)};
  Simulation simulation_ = {.jobs = {Ran(0, 10), Ran(20, 60), Ran(60, 70)}};
};

TEST_F(FiguresTest, ComputesUtilisation) {
  const Figures f = MakeFigures(workload_, options_, simulation_);
  EXPECT_EQ(f.slots, 4);
  EXPECT_EQ(f.window, Seconds(30));
  EXPECT_EQ(f.makespan, Seconds(70));
  EXPECT_DOUBLE_EQ(f.offered_load, 160.0 / (4 * 30));
  EXPECT_DOUBLE_EQ(f.in_window.reached, 60.0 / (4 * 30));
  // bob could have run from 10 on.
  EXPECT_DOUBLE_EQ(f.in_window.bound, 80.0 / (4 * 30));
  EXPECT_DOUBLE_EQ(f.in_window.GetRatioToBound(), 0.75);
  EXPECT_DOUBLE_EQ(f.in_makespan.reached, 160.0 / (4 * 70));
  // bob's length alone takes until 50.
  EXPECT_DOUBLE_EQ(f.in_makespan.bound, 160.0 / (4 * 50));
}

TEST_F(FiguresTest, GroupsWaits) {
  workload_[1].priority = 1;
  const Figures f = MakeFigures(workload_, options_, simulation_);
  ASSERT_EQ(f.by_size.size(), 1u);
  EXPECT_EQ(f.by_size[0].group, "2-4 slots");
  EXPECT_EQ(f.by_size[0].jobs, 3);
  EXPECT_EQ(f.by_size[0].median, Seconds(10));
  EXPECT_EQ(f.by_size[0].max, Seconds(30));
  ASSERT_EQ(f.by_user.size(), 2u);
  EXPECT_EQ(f.by_user[0].group, "ada") << "requested as much as bob, and comes first by name";
  ASSERT_EQ(f.by_priority.size(), 2u);
  EXPECT_EQ(f.by_priority[0].group, "priority 1");
  EXPECT_EQ(f.by_priority[0].median, Seconds(10));
}

TEST_F(FiguresTest, ClassifiesEverySize) {
  workload_ = {Make(0, 0, 1), Make(0, 1, 1), Make(0, 2, 1),  Make(0, 4, 1), Make(0, 5, 1),
               Make(0, 8, 1), Make(0, 9, 1), Make(0, 64, 1), Make(0, 65, 1)};
  simulation_.jobs.assign(workload_.size(), Ran(0, 1));
  std::vector<std::string> classes;
  for (const Waits& w : MakeFigures(workload_, options_, simulation_).by_size) {
    classes.push_back(w.group);
  }
  EXPECT_THAT(classes, ElementsAre("0 slots", "1 slot", "2-4 slots", "5-8 slots", "9-64 slots",
                                   "> 64 slots"));
}

TEST_F(FiguresTest, CountsJobsThatNeverStarted) {
  simulation_.jobs[2] = {.why = "too large"};
  const Figures f = MakeFigures(workload_, options_, simulation_);
  EXPECT_EQ(f.jobs, 3);
  EXPECT_EQ(f.completed, 2);
  EXPECT_EQ(f.all.jobs, 2);
  EXPECT_EQ(f.all.max, Seconds(10));
}

TEST_F(FiguresTest, CountsLostSlotHours) {
  simulation_.jobs[1].preemptions = 2;
  simulation_.jobs[1].lost = absl::Hours(3);
  const Figures f = MakeFigures(workload_, options_, simulation_);
  EXPECT_EQ(f.preemptions, 2);
  EXPECT_DOUBLE_EQ(f.lost_slot_hours, 6);
}

TEST_F(FiguresTest, ExcludesLostWorkFromUtilisation) {
  simulation_.jobs[0].runs[0].lost = Seconds(4);
  EXPECT_DOUBLE_EQ(MakeFigures(workload_, options_, simulation_).in_window.reached,
                   (60.0 - 4 * 4) / (4 * 30));
}

TEST_F(FiguresTest, ComputesFairness) {
  // In the window ada got all of 40, bob 20 of 40.
  EXPECT_DOUBLE_EQ(MakeFigures(workload_, options_, simulation_).fairness, 1.5 * 1.5 / (2 * 1.25));
  simulation_.jobs[1] = Ran(10, 50);
  EXPECT_DOUBLE_EQ(MakeFigures(workload_, options_, simulation_).fairness, 1);
}

TEST_F(FiguresTest, ComputesBoundPerPool) {
  options_.agents = {{1, 4, "a"}, {1, 4, "b"}};
  workload_ = {Make(0, 4, 10), Make(0, 4, 10), Make(10, 1, 1)};
  simulation_.jobs = {Ran(0, 10), Ran(10, 20), Ran(20, 21)};
  EXPECT_DOUBLE_EQ(MakeFigures(workload_, options_, simulation_).in_window.bound, 0.5);
  workload_[1].pool = "b";
  EXPECT_DOUBLE_EQ(MakeFigures(workload_, options_, simulation_).in_window.bound, 1);
}

TEST(AgentGroup, ParsesAgentsSlotsAndPool) {
  EXPECT_EQ(*ParseAgentGroup("1000x8"), (AgentGroup{1000, 8, "default"}));
  EXPECT_EQ(*ParseAgentGroup("4x2:large"), (AgentGroup{4, 2, "large"}));
  for (const char* text : {"", "x", "8", "8x", "x8", "0x8", "8x0", "-1x8", "8x8:", "8:8x8", "axb",
                           "99999999x99999999", "1000000x8000"}) {
    EXPECT_EQ(ParseAgentGroup(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace det::simulate
