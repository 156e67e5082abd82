// Trials that take what there is, and grow and shrink at a checkpoint.
#include <memory>
#include <string>
#include <vector>

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

std::shared_ptr<model::ExperimentConfig> Wanting(int slots, int max_slots = 0, int priority = 42) {
  auto config = MakeConfig();
  config->resources.slots_per_trial = slots;
  config->resources.max_slots_per_trial = max_slots;
  config->resources.priority = priority;
  return config;
}

class ElasticTest : public Fixture {
 protected:
  // Trial 1 runs on half of eight slots, as trial 2 has the others.
  ElasticTest() {
    Apply(PutResourcePool{.pool = {.name = "default", .preemption = true}});
    AddAgent("a", 4);
    Create(Wanting(2, 8));
    Start("1.1.0");
    AddAgent("b", 4);
    Create(Wanting(4));
    Start("2.2.0", "b");
  }
  size_t SlotsOf(const std::string& id) const {
    size_t slots = 0;
    for (const auto& share : allocation(id).shares) slots += share.placement.slots.size();
    return slots;
  }
  // It saves, says so and goes.
  void SaveAndLeave(const std::string& id, const std::string& checkpoint, int64_t steps) {
    Apply(Checkpoint(id, 1, checkpoint, steps));
    Apply(PreemptionAcked{AllocationId(id)});
    Exit(id, 0);
  }
  // What each agent is told to start of the allocation.
  std::vector<TaskSpec> Starts(const Outcome& outcome, const std::string& id) {
    std::vector<TaskSpec> specs;
    for (const cluster::StartTask& start : Of<StartTask>(outcome)) {
      if (start.spec.allocation == AllocationId(id)) specs.push_back(start.spec);
    }
    return specs;
  }
};

TEST_F(ElasticTest, StartsWithWhatThereIsAndGrowsAtACheckpoint) {
  EXPECT_EQ(SlotsOf("1.1.0"), 4u);
  Exit("2.2.0", 0, "b");
  const absl::Time settled = *allocation("1.1.0").started_at + absl::Minutes(10);
  const Outcome early = Tick();
  EXPECT_THAT(Of<AnnouncePreemption>(early), IsEmpty()) << "it has hardly begun";
  EXPECT_THAT(Of<SetScheduleTimer>(early), ElementsAre(SetScheduleTimer{settled}));
  now_ = settled;
  const auto asked = Of<AnnouncePreemption>(Tick());
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_THAT(asked[0].reason, HasSubstr("it can have 8 slots instead of 4"));
  EXPECT_THAT(Of<AnnouncePreemption>(Tick()), IsEmpty()) << "it is asked once";
  SaveAndLeave("1.1.0", "c1", 50);
  const std::vector<TaskSpec> shares = Starts(Tick(), "1.1.1");
  ASSERT_THAT(shares, SizeIs(2));
  for (const TaskSpec& share : shares) {
    EXPECT_THAT(share.slots, SizeIs(4));
    EXPECT_EQ(share.env.at("DET_LATEST_CHECKPOINT"), "c1");
    EXPECT_EQ(share.env.at("DET_STEPS_COMPLETED"), "50");
  }
  EXPECT_EQ(trial(1).restarts, 0) << "growing is no failure";
  Start("1.1.1", "a");
  Start("1.1.1", "b");
  now_ += absl::Hours(1);
  EXPECT_THAT(Of<AnnouncePreemption>(Tick()), IsEmpty()) << "it has all that it may";
}

TEST_F(ElasticTest, ShrinksAtACheckpointForWhoIsMoreImportant) {
  Create(Wanting(2, 0, 10));
  EXPECT_EQ(allocation("1.1.0").state, AllocationState::kPreempting) << "it comes back smaller";
  EXPECT_EQ(allocation("2.2.0").state, AllocationState::kRunning);
  EXPECT_EQ(allocation("3.3.0").state, AllocationState::kQueued);
  SaveAndLeave("1.1.0", "c1", 70);
  const Outcome after = Tick();
  EXPECT_THAT(Starts(after, "3.3.0"), SizeIs(1));
  const std::vector<TaskSpec> shares = Starts(after, "1.1.1");
  ASSERT_THAT(shares, SizeIs(1));
  EXPECT_THAT(shares[0].slots, SizeIs(2));
  EXPECT_EQ(shares[0].env.at("DET_LATEST_CHECKPOINT"), "c1");
  EXPECT_EQ(trial(1).restarts, 0);
}

TEST_F(ElasticTest, GrowsNotWhileOthersWait) {
  Create(Wanting(5));
  Exit("2.2.0", 0, "b");
  now_ += absl::Hours(1);
  EXPECT_THAT(Of<AnnouncePreemption>(Tick()), IsEmpty()) << "the four are for experiment 3";
  EXPECT_EQ(allocation("3.3.0").state, AllocationState::kQueued);
  Apply(KillExperiment{model::ExperimentId(3)});
  EXPECT_THAT(Of<AnnouncePreemption>(Tick()), SizeIs(1));
}

TEST_F(ElasticTest, ARestartedMasterLetsItGrowToo) {
  Exit("2.2.0", 0, "b");
  Restart();
  AddAgent("a", 4, {"1.1.0"});
  AddAgent("b", 4);
  now_ = *allocation("1.1.0").started_at + absl::Minutes(10);
  EXPECT_THAT(Of<AnnouncePreemption>(Tick()), SizeIs(1));
  Restart();
  AddAgent("a", 4, {"1.1.0"});
  AddAgent("b", 4);
  EXPECT_THAT(Of<AnnouncePreemption>(Tick()), IsEmpty()) << "it was asked already";
  SaveAndLeave("1.1.0", "c1", 50);
  EXPECT_THAT(Starts(Tick(), "1.1.1"), SizeIs(2));
}

}  // namespace
}  // namespace det::cluster
