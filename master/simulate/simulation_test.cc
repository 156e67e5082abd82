#include "master/simulate/simulation.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/simulate/figures.h"
#include "master/simulate/trace.h"

namespace det::simulate {
namespace {

using absl::Minutes;
using absl::Seconds;
using ::testing::HasSubstr;

Job Make(absl::Duration arrival, int slots, absl::Duration length, int priority = 42) {
  return {.arrival = arrival, .slots = slots, .length = length, .priority = priority};
}

Simulation Simulated(const Workload& workload, const Options& options) {
  const auto simulation = Simulate(workload, options);
  EXPECT_TRUE(simulation.ok()) << simulation.status();
  return simulation.value_or(Simulation());
}

class SimulationTest : public ::testing::Test {
 protected:
  SimulationTest() { options_.agents = {{2, 4}}; }
  Options options_;
};

TEST_F(SimulationTest, RunsJobForItsLength) {
  const Simulation s = Simulated({Make(Seconds(7), 8, Minutes(3))}, options_);
  ASSERT_EQ(s.jobs[0].runs.size(), 1u);
  EXPECT_EQ(s.jobs[0].runs[0].begin, Seconds(7));
  EXPECT_EQ(s.jobs[0].runs[0].end, Seconds(187));
  EXPECT_TRUE(s.jobs[0].completed);
  EXPECT_EQ(s.jobs[0].waited, absl::ZeroDuration());
}

TEST_F(SimulationTest, QueuesJobThatDoesNotFit) {
  const Simulation s =
      Simulated({Make(Seconds(0), 5, Seconds(100)), Make(Seconds(10), 4, Seconds(50))}, options_);
  EXPECT_EQ(s.jobs[1].runs[0].begin, Seconds(100));
  EXPECT_EQ(s.jobs[1].waited, Seconds(90));
}

TEST_F(SimulationTest, RunsJobsWithoutSlotsInParallel) {
  const Simulation s =
      Simulated({Make(Seconds(0), 8, Seconds(100)), Make(Seconds(1), 0, Seconds(5))}, options_);
  EXPECT_EQ(s.jobs[1].runs[0].begin, Seconds(1));
  EXPECT_TRUE(s.jobs[1].completed);
}

TEST_F(SimulationTest, ResumesPreemptedJobFromCheckpoint) {
  options_.settings.preemption = true;
  options_.checkpoint_every = Seconds(10);
  const Simulation s = Simulated(
      {Make(Seconds(0), 8, Seconds(100)), Make(Seconds(25), 8, Seconds(50), 1)}, options_);
  EXPECT_EQ(s.jobs[1].runs[0].begin, Seconds(25));
  const JobRecord& victim = s.jobs[0];
  EXPECT_EQ(victim.preemptions, 1);
  EXPECT_EQ(victim.lost, Seconds(5));
  ASSERT_EQ(victim.runs.size(), 2u);
  EXPECT_EQ(victim.runs[0].end, Seconds(25));
  EXPECT_EQ(victim.runs[1].begin, Seconds(75));
  EXPECT_EQ(victim.runs[1].end, Seconds(155)) << "20 of its 100 s were saved";
  EXPECT_EQ(victim.waited, Seconds(50));
  EXPECT_TRUE(victim.completed);
}

TEST_F(SimulationTest, KillsJob_WhenItIgnoresPreemption) {
  options_.settings.preemption = true;
  Workload workload = {Make(Seconds(0), 8, absl::Hours(5)), Make(Seconds(60), 8, Seconds(50), 1)};
  workload[0].preemptible = false;
  const Simulation s = Simulated(workload, options_);
  EXPECT_EQ(s.jobs[1].runs[0].begin, absl::Hours(1) + Seconds(60));
  EXPECT_EQ(s.jobs[0].preemptions, 1);
}

TEST_F(SimulationTest, EndsJob_AfterMaxRunTime) {
  Workload workload = {Make(Seconds(0), 8, absl::Hours(5)), Make(Seconds(1), 8, Seconds(1))};
  workload[0].max_run_time = absl::Hours(1);
  const Simulation s = Simulated(workload, options_);
  EXPECT_FALSE(s.jobs[0].completed);
  EXPECT_THAT(s.jobs[0].why, HasSubstr("max_run_time"));
  // The trial exits as soon as it is preempted.
  EXPECT_EQ(s.jobs[0].runs[0].end, absl::Minutes(52.5));
  EXPECT_EQ(s.jobs[0].preemptions, 0);
  EXPECT_EQ(s.jobs[1].runs[0].begin, absl::Minutes(52.5));
}

TEST_F(SimulationTest, ReportsInfeasibleJob) {
  const Simulation s =
      Simulated({Make(Seconds(0), 9, Seconds(1)), Make(Seconds(1), 8, Seconds(1))}, options_);
  EXPECT_FALSE(s.jobs[0].completed);
  EXPECT_THAT(s.jobs[0].why, HasSubstr("8"));
  EXPECT_TRUE(s.jobs[0].runs.empty());
  EXPECT_TRUE(s.jobs[1].completed);
}

TEST_F(SimulationTest, SimulatesPoolsIndependently) {
  options_.agents = {{1, 4, "a"}, {1, 4, "b"}};
  Workload workload = {Make(Seconds(0), 4, Seconds(100)), Make(Seconds(0), 4, Seconds(100)),
                       Make(Seconds(0), 4, Seconds(100))};
  workload[1].pool = "b";
  const Simulation s = Simulated(workload, options_);
  EXPECT_EQ(s.jobs[1].waited, absl::ZeroDuration());
  EXPECT_EQ(s.jobs[2].waited, Seconds(100));
  workload[1].pool = "c";
  EXPECT_THAT(Simulate(workload, options_).status().message(), HasSubstr("pool \"c\""));
}

// Invariants of any workload: no more slots are busy than exist, each completed job ran for its
// length plus lost work, and a repeated simulation gives the same result.
TEST_F(SimulationTest, SatisfiesInvariantsOnRandomWorkloads) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    TraceOptions trace;
    trace.jobs = 120;
    trace.cluster_slots = 8;
    trace.max_slots = 8;
    trace.seed = seed;
    // What a preemption loses counts as run time: with both, some would be stopped.
    trace.run_times = seed % 2 == 0 ? 0 : 0.5;
    const Workload workload = MakeTrace(trace);
    options_.settings.preemption = seed % 2 == 0;
    options_.settings.policy = static_cast<model::SchedulingPolicy>(seed % 3);
    const Simulation s = Simulated(workload, options_);
    std::map<absl::Duration, int> busy;  // changes
    for (size_t i = 0; i < workload.size(); ++i) {
      EXPECT_TRUE(s.jobs[i].completed) << "seed " << seed << " job " << i << ": " << s.jobs[i].why;
      absl::Duration ran;
      for (const simulate::Run& run : s.jobs[i].runs) {
        EXPECT_GE(run.begin, workload[i].arrival);
        ran += run.end - run.begin;
        busy[run.begin] += workload[i].slots;
        busy[run.end] -= workload[i].slots;
      }
      EXPECT_EQ(ran, workload[i].length + s.jobs[i].lost) << "seed " << seed << " job " << i;
    }
    int now = 0;
    for (const auto& [time, change] : busy) EXPECT_LE(now += change, 8) << "seed " << seed;
    const Figures f = MakeFigures(workload, options_, s);
    EXPECT_LE(f.in_window.reached, f.in_window.bound + 1e-9) << "seed " << seed;
    EXPECT_LE(f.in_makespan.reached, f.in_makespan.bound + 1e-9) << "seed " << seed;
    const Simulation again = Simulated(workload, options_);
    for (size_t i = 0; i < workload.size(); ++i) {
      EXPECT_EQ(again.jobs[i].waited, s.jobs[i].waited) << "seed " << seed << " job " << i;
    }
  }
}

}  // namespace
}  // namespace det::simulate
