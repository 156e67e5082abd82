// Elastic trials, which grow and shrink at a checkpoint.
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/core/cluster/cluster.h"
#include "master/core/cluster/testing/fixture.h"

namespace det::cluster {
namespace {

using model::AllocationId;
using model::AllocationState;
using model::TrialState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::shared_ptr<model::ExperimentConfig> MakeElasticConfig(int slots, int max_slots = 0,
                                                           int priority = 42) {
  auto config = MakeConfig();
  config->resources.slots_per_trial = slots;
  config->resources.max_slots_per_trial = max_slots;
  config->resources.priority = priority;
  return config;
}

class ElasticTest : public Fixture {
 protected:
  // Trial 1 runs on half of eight slots, because trial 2 has the others.
  ElasticTest() {
    Apply(PutResourcePool{.pool = {.name = "default", .preemption = true}});
    AddAgent("a", 4);
    Create(MakeElasticConfig(2, 8));
    Start("1.1.1");
    AddAgent("b", 4);
    Create(MakeElasticConfig(4));
    Start("2.2.1", "b");
  }
  size_t FormatMicroSlots(const std::string& id) const {
    size_t slots = 0;
    for (const auto& local_task : allocation(id).local_tasks)
      slots += local_task.placement.slots.size();
    return slots;
  }
  // It saves a checkpoint, acknowledges the preemption and exits.
  void SaveAndLeave(const std::string& id, const std::string& checkpoint, int64_t steps) {
    Apply(Checkpoint(id, 1, checkpoint, steps));
    Apply(PreemptionAcked{AllocationId(id)});
    Exit(id, 0);
  }
  // Returns the local tasks of the allocation that agents must start.
  std::vector<TaskSpec> Starts(const Outcome& outcome, const std::string& id) {
    std::vector<TaskSpec> specs;
    for (const cluster::StartTask& start : GetEffects<StartTask>(outcome)) {
      if (start.spec.allocation == AllocationId(id)) specs.push_back(start.spec);
    }
    return specs;
  }
};

TEST_F(ElasticTest, GrowsAtCheckpoint) {
  EXPECT_EQ(FormatMicroSlots("1.1.1"), 4u);
  Exit("2.2.1", 0, "b");
  const absl::Time settled = *allocation("1.1.1").started_at + absl::Minutes(10);
  const Outcome early = Tick();
  EXPECT_THAT(GetEffects<AnnouncePreemption>(early), IsEmpty()) << "it started too recently";
  EXPECT_THAT(GetEffects<SetScheduleTimer>(early), ElementsAre(SetScheduleTimer{settled}));
  now_ = settled;
  const auto preemptions = GetEffects<AnnouncePreemption>(Tick());
  ASSERT_THAT(preemptions, SizeIs(1));
  EXPECT_THAT(preemptions[0].reason, HasSubstr("it can run with 8 slots instead of 4"));
  EXPECT_THAT(GetEffects<AnnouncePreemption>(Tick()), IsEmpty()) << "it is preempted once";
  SaveAndLeave("1.1.1", "c1", 50);
  const std::vector<TaskSpec> local_tasks = Starts(Tick(), "1.1.2");
  ASSERT_THAT(local_tasks, SizeIs(2));
  for (const TaskSpec& local_task : local_tasks) {
    EXPECT_THAT(local_task.slots, SizeIs(4));
    EXPECT_EQ(local_task.env.at("DET_LATEST_CHECKPOINT"), "c1");
    EXPECT_EQ(local_task.env.at("DET_STEPS_COMPLETED"), "50");
  }
  EXPECT_EQ(trial(1).restarts, 0) << "growing does not count as a restart";
  Start("1.1.2", "a");
  Start("1.1.2", "b");
  now_ += absl::Hours(1);
  EXPECT_THAT(GetEffects<AnnouncePreemption>(Tick()), IsEmpty()) << "it has its maximum";
}

TEST_F(ElasticTest, ShrinksForHigherPriority) {
  Create(MakeElasticConfig(2, 0, 10));
  EXPECT_EQ(allocation("1.1.1").state, AllocationState::kPreempting)
      << "it will restart with fewer slots";
  EXPECT_EQ(allocation("2.2.1").state, AllocationState::kRunning);
  EXPECT_EQ(allocation("3.3.1").state, AllocationState::kQueued);
  SaveAndLeave("1.1.1", "c1", 70);
  const Outcome after = Tick();
  EXPECT_THAT(Starts(after, "3.3.1"), SizeIs(1));
  const std::vector<TaskSpec> local_tasks = Starts(after, "1.1.2");
  ASSERT_THAT(local_tasks, SizeIs(1));
  EXPECT_THAT(local_tasks[0].slots, SizeIs(2));
  EXPECT_EQ(local_tasks[0].env.at("DET_LATEST_CHECKPOINT"), "c1");
  EXPECT_EQ(trial(1).restarts, 0);
}

TEST_F(ElasticTest, DoesNotGrow_WhileOthersWait) {
  Create(MakeElasticConfig(5));
  Exit("2.2.1", 0, "b");
  now_ += absl::Hours(1);
  EXPECT_THAT(GetEffects<AnnouncePreemption>(Tick()), IsEmpty()) << "the four are for experiment 3";
  EXPECT_EQ(allocation("3.3.1").state, AllocationState::kQueued);
  Apply(KillExperiment{model::ExperimentId(3)});
  EXPECT_THAT(GetEffects<AnnouncePreemption>(Tick()), SizeIs(1));
}

TEST_F(ElasticTest, Grows_AfterMasterRestart) {
  Exit("2.2.1", 0, "b");
  Restart();
  AddAgent("a", 4, {"1.1.1"});
  AddAgent("b", 4);
  now_ = *allocation("1.1.1").started_at + absl::Minutes(10);
  EXPECT_THAT(GetEffects<AnnouncePreemption>(Tick()), SizeIs(1));
  Restart();
  AddAgent("a", 4, {"1.1.1"});
  AddAgent("b", 4);
  EXPECT_THAT(GetEffects<AnnouncePreemption>(Tick()), IsEmpty()) << "it is already being preempted";
  SaveAndLeave("1.1.1", "c1", 50);
  EXPECT_THAT(Starts(Tick(), "1.1.2"), SizeIs(2));
}

}  // namespace
}  // namespace det::cluster
