// Disabled agents and slots, maintenance, hardware failures, log policies.
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/core/cluster/cluster.h"
#include "master/core/cluster/testing/fixture.h"

namespace det::cluster {
namespace {

using model::AgentId;
using model::AllocationId;
using model::AllocationState;
using model::ExperimentId;
using model::TrialState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class AgentStatesTest : public Fixture {
 protected:
  std::string LastLine() const { return rows_.lines.back().text; }
};

// ---- agents ----

TEST_F(AgentStatesTest, FinishesRunningWork_WhenDraining) {
  AddAgent("a", 2);
  Create(MakeConfig());
  Start("1.1.1");
  Apply(DisableAgent{AgentId("a"), true});
  EXPECT_EQ(allocation("1.1.1").state, AllocationState::kRunning);
  Create(MakeConfig());
  EXPECT_EQ(allocation("2.2.1").state, AllocationState::kQueued);
  Restart();
  AddAgent("a", 2, {"1.1.1"});
  EXPECT_THAT(GetEffects<StartTask>(Tick()), IsEmpty()) << "also after a restart";
  Apply(EnableAgent{AgentId("a")});
  EXPECT_THAT(GetEffects<StartTask>(Tick()), SizeIs(1));
  EXPECT_TRUE(absl::IsNotFound(ExpectRejection(EnableAgent{AgentId("zz")})));
}

TEST_F(AgentStatesTest, RequeuesWithoutRestart_WhenAgentIsDisabled) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  EXPECT_THAT(GetEffects<StopTask>(Apply(DisableAgent{AgentId("a")})), SizeIs(1));
  EXPECT_THAT(LastLine(), HasSubstr("agent a was disabled"));
  EXPECT_THAT(GetEffects<StopTask>(Apply(DisableAgent{AgentId("a")})), IsEmpty()) << "repeated";
  Exit("1.1.1", 143);
  EXPECT_EQ(trial(1).state, TrialState::kQueued);
  EXPECT_EQ(trial(1).restarts, 0);
  EXPECT_EQ(trial(1).reason, "agent a was disabled");
  Apply(AgentDisconnected{AgentId("a")});
  Apply(AgentLost{AgentId("a")});
  AddAgent("a", 1);
  EXPECT_THAT(GetEffects<StartTask>(Tick()), IsEmpty())
      << "the state is kept when the agent reconnects";
}

TEST_F(AgentStatesTest, DoesNotUseDisabledSlot) {
  AddAgent("a", 2);
  Create(MakeConfig());
  Start("1.1.1");
  EXPECT_TRUE(absl::IsNotFound(ExpectRejection(DisableSlot{AgentId("a"), 2})));
  Apply(DisableSlot{AgentId("a"), 1});
  EXPECT_EQ(allocation("1.1.1").state, AllocationState::kRunning) << "it runs on the other agent";
  Create(MakeConfig());
  EXPECT_EQ(allocation("2.2.1").state, AllocationState::kQueued);
  EXPECT_THAT(GetEffects<StopTask>(Apply(DisableSlot{AgentId("a"), 0, true})), IsEmpty());
  EXPECT_THAT(GetEffects<StopTask>(Apply(DisableSlot{AgentId("a"), 0})), SizeIs(1));
  Exit("1.1.1", 143);
  Apply(EnableSlot{AgentId("a"), 1});
  EXPECT_THAT(GetEffects<StartTask>(Tick()), SizeIs(1));
}

TEST_F(AgentStatesTest, DrainsForMaintenance) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  const absl::Time begin = now_ + absl::Hours(1), end = begin + absl::Hours(2);
  EXPECT_TRUE(
      absl::IsInvalidArgument(ExpectRejection(SetMaintenance{AgentId("a"), {{end, begin, ""}}})));
  const auto timers =
      GetEffects<SetCalendarTimer>(Apply(SetMaintenance{AgentId("a"), {{begin, end, "new fans"}}}));
  EXPECT_THAT(timers, ElementsAre(SetCalendarTimer{end}));
  const auto again_at = GetEffects<SetScheduleTimer>(Tick());
  ASSERT_THAT(again_at, SizeIs(1));
  EXPECT_LE(again_at[0].at, begin);
  EXPECT_EQ(allocation("1.1.1").state, AllocationState::kRunning) << "early";
  Restart();
  Outcome again;
  again.effects = cluster_.Regenerate();
  EXPECT_THAT(GetEffects<SetCalendarTimer>(again), SizeIs(1));
  AddAgent("a", 1, {"1.1.1"});
  now_ = begin;
  EXPECT_THAT(GetEffects<AnnouncePreemption>(Apply(CalendarTick{})), IsEmpty())
      << "the scheduling pass preempts it";
  const Outcome begun = Tick();
  ASSERT_THAT(GetEffects<AnnouncePreemption>(begun), SizeIs(1));
  EXPECT_THAT(GetEffects<AnnouncePreemption>(begun)[0].reason, HasSubstr(" UTC: new fans"));
  now_ = end;
  EXPECT_THAT(GetEffects<SetCalendarTimer>(Apply(CalendarTick{})), IsEmpty());
  EXPECT_THAT(rows_.agents.at(AgentId("a")).maintenance, IsEmpty());
}

TEST_F(AgentStatesTest, RejectsAgentWithoutUsedDevices) {
  AddAgent("a", 2);
  auto config = MakeConfig();
  config->resources.slots_per_trial = 2;
  Create(config);
  Start("1.1.1");
  AgentRegistered back;
  back.agent = cluster_.agents().at(AgentId("a"));
  back.running = {AllocationId("1.1.1")};
  back.agent.slots.pop_back();
  const absl::Status rejected = ExpectRejection(back);
  EXPECT_TRUE(absl::IsFailedPrecondition(rejected));
  EXPECT_THAT(std::string(rejected.message()), HasSubstr("slot 1, on which allocation 1.1.1 runs"));
  EXPECT_EQ(allocation("1.1.1").state, AllocationState::kRunning);
  // Additional devices are allowed; devices without a task may be removed.
  AddAgent("a", 3, {"1.1.1"});
  EXPECT_EQ(cluster_.agents().at(AgentId("a")).slots.size(), 3u);
  AddAgent("a", 2, {"1.1.1"});
  EXPECT_EQ(allocation("1.1.1").state, AllocationState::kRunning);
  AddAgent("a", 1);
  EXPECT_EQ(trial(1).state, TrialState::kQueued) << "the agent reconnected without the task";
}

TEST_F(AgentStatesTest, StopsUnassignedTasks) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  AgentRegistered thief;
  thief.agent.id = AgentId("thief");
  thief.agent.resource_pool = "default";
  thief.running = {AllocationId("1.1.1")};
  const auto stops = GetEffects<StopTask>(Apply(thief));
  ASSERT_THAT(stops, SizeIs(1));
  EXPECT_EQ(stops[0].agent, AgentId("thief"));
  EXPECT_THAT(LastLine(), HasSubstr("agent thief reports that it runs 1.1.1"));
  EXPECT_EQ(allocation("1.1.1").state, AllocationState::kRunning);
}

// ---- hardware ----

TEST_F(AgentStatesTest, QuarantinesSlot_AfterHardwareFailures) {
  AddAgent("a", 1);
  Create(MakeConfig());
  const auto fail = [&](const std::string& id) {
    Start(id);
    Apply(HardwareSuspected{AllocationId(id), AgentId("a"), "NVRM: Xid 79"});
    Exit(id, 1);
    Tick();
  };
  fail("1.1.1");
  const auto& state = rows_.agents.at(AgentId("a"));
  EXPECT_EQ(state.slots.at(0).failures, 1);
  EXPECT_FALSE(state.slots.at(0).quarantined);
  Apply(KillExperiment{ExperimentId(1)});
  // A successful run resets the failure count.
  if (cluster_.FindExperiment(ExperimentId(1)) != nullptr) Exit("1.1.2", 143);
  Create(MakeConfig());
  Start("2.2.1");
  Exit("2.2.1", 0);
  EXPECT_EQ(state.slots.at(0).failures, 0);
  Create(MakeConfig());
  fail("3.3.1");
  fail("3.3.2");
  EXPECT_TRUE(state.slots.at(0).quarantined);
  EXPECT_EQ(state.slots.at(0).reason, "NVRM: Xid 79");
  EXPECT_THAT(GetEffects<StartTask>(Tick()), IsEmpty());
  Restart();
  AddAgent("a", 1);
  EXPECT_THAT(GetEffects<StartTask>(Tick()), IsEmpty());
  Apply(EnableSlot{AgentId("a"), 0});
  EXPECT_FALSE(state.slots.at(0).quarantined);
}

TEST_F(AgentStatesTest, UnblocksAgent_WhenEnabled) {
  AddAgent("a", 2);
  AddAgent("b", 1);
  const auto fail = [&](int experiment, const std::string& id) {
    auto config = MakeConfig();
    config->resources.slots_per_trial = 2;  // at first only agent a has 2 slots
    config->resources.is_single_node = true;
    Create(config);
    Start(id);
    AddAgent("c", 2);
    Apply(HardwareSuspected{AllocationId(id), AgentId("a"), "NVRM: Xid 79"});
    Exit(id, 1);
    EXPECT_THAT(trial(experiment).suspects, ElementsAre(AgentId("a")));
    EXPECT_THAT(trial(experiment).blocked, IsEmpty());
    Apply(AgentDisconnected{AgentId("c")});
  };
  fail(1, "1.1.1");
  EXPECT_THAT(GetEffects<StartTask>(Tick()), IsEmpty()) << "a is excluded, and c is disconnected";
  Restart();
  AddAgent("a", 2);
  EXPECT_THAT(GetEffects<StartTask>(Tick()), IsEmpty());
  Apply(EnableAgent{AgentId("a")});
  EXPECT_THAT(trial(1).suspects, IsEmpty());
  EXPECT_THAT(GetEffects<StartTask>(Tick()), SizeIs(1));
  Apply(KillExperiment{ExperimentId(1)});
  Exit("1.1.2", 143);
  // Quarantined after two consecutive failures: each slot must be enabled separately.
  fail(2, "2.2.1");
  fail(3, "3.3.1");
  EXPECT_TRUE(rows_.agents.at(AgentId("a")).slots.at(1).quarantined);
  Apply(EnableAgent{AgentId("a")});
  Apply(EnableSlot{AgentId("a"), 0});
  EXPECT_THAT(trial(2).suspects, ElementsAre(AgentId("a")));
  Apply(EnableSlot{AgentId("a"), 1});
  EXPECT_THAT(trial(2).suspects, IsEmpty());
  EXPECT_THAT(trial(3).suspects, IsEmpty());
}

TEST_F(AgentStatesTest, WaitsForAnotherAgent_WhenLogPolicyExcludesTheOnlyOne) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  Apply(LogPolicyMatched{AllocationId("1.1.1"), AgentId("a"), "ECC", false, true});
  EXPECT_THAT(LastLine(), HasSubstr("therefore will not schedule on a"));
  Exit("1.1.1", 1);
  EXPECT_EQ(trial(1).restarts, 1);
  EXPECT_THAT(GetEffects<StartTask>(Tick()), IsEmpty());
  AddAgent("b", 1);
  EXPECT_THAT(GetEffects<StartTask>(Tick()), SizeIs(1));
}

TEST_F(AgentStatesTest, AppliesLogPolicies) {
  AddAgent("a", 1);
  AddAgent("b", 1);
  Create(MakeConfig());
  Start("1.1.1");
  const LogPolicyMatched exclude{AllocationId("1.1.1"), AgentId("a"), "ECC", false, true};
  Apply(exclude);
  EXPECT_THAT(LastLine(), HasSubstr("will not run on a again"));
  EXPECT_EQ(trial(1).log_policy, "ECC");
  EXPECT_THAT(Apply(exclude).changes, IsEmpty()) << "repeated";
  Exit("1.1.1", 1);
  EXPECT_THAT(trial(1).blocked, ElementsAre(AgentId("a")));
  Tick();
  Apply(LogPolicyMatched{AllocationId("1.1.2"), AgentId("b"), "OOM", true, false});
  if (allocation("1.1.2").state != AllocationState::kQueued) {
    Exit("1.1.2", 1, allocation("1.1.2").local_tasks[0].placement.agent.value());
    EXPECT_EQ(trial(1).state, TrialState::kError);
    EXPECT_THAT(trial(1).reason, HasSubstr("log policy \"OOM\" forbids a retry"));
    EXPECT_THAT(trial(1).reason, HasSubstr("matched logs to a don't retry policy"));
  }
}

}  // namespace
}  // namespace det::cluster
