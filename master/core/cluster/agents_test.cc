// Agents that connect, disconnect and reconnect, and their local tasks.
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/core/cluster/cluster.h"
#include "master/core/cluster/testing/fixture.h"

namespace det::cluster {
namespace {

using model::AgentId;
using model::AllocationState;
using model::ExperimentId;
using model::TrialState;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using AgentsTest = Fixture;

TEST_F(AgentsTest, StopsGang_WhenLocalTaskFails) {
  AddAgent("a", 1);
  AddAgent("b", 1);
  auto config = MakeConfig();
  config->resources.slots_per_trial = 2;
  Create(config);
  Start("1.1.1", "a");
  EXPECT_THAT(GetEffects<AnnounceRendezvous>(Start("1.1.1", "b")), SizeIs(1));
  const auto stops = GetEffects<StopTask>(Exit("1.1.1", 1, "a"));
  ASSERT_THAT(stops, SizeIs(1));
  EXPECT_EQ(stops[0].agent, model::AgentId("b"));
  EXPECT_THAT(Exit("1.1.1", 143, "b").effects, ::testing::Not(IsEmpty()));
  EXPECT_THAT(allocation("1.1.1").exit_message, HasSubstr("on a ended with exit code 1"));
  EXPECT_EQ(trial(1).restarts, 1);
}

TEST_F(AgentsTest, RecordsCapacityChanges) {
  const auto noted = [](const Outcome& outcome) {
    std::vector<AddCapacity> found;
    for (const Change& change : outcome.changes) {
      if (const auto* add = std::get_if<AddCapacity>(&change)) found.push_back(*add);
    }
    return found;
  };
  AgentRegistered comes;
  comes.agent.id = AgentId("a");
  comes.agent.address = "10.0.0.a";
  comes.agent.resource_pool = "default";
  comes.agent.slots = {{.id = 0}, {.id = 1}};
  const auto first = noted(Apply(comes));
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].agent, AgentId("a"));
  EXPECT_EQ(first[0].resource_pool, "default");
  EXPECT_EQ(first[0].slots, 2);

  Apply(AgentDisconnected{AgentId("a")});
  EXPECT_THAT(noted(Apply(comes)), IsEmpty()) << "its capacity is unchanged";
  comes.agent.slots = {{.id = 0}};
  EXPECT_EQ(noted(Apply(comes)).at(0).slots, 1);

  EXPECT_THAT(noted(Apply(AgentDisconnected{AgentId("a")})), IsEmpty()) << "it may reconnect";
  const auto last = noted(Apply(AgentLost{AgentId("a")}));
  ASSERT_THAT(last, SizeIs(1));
  EXPECT_EQ(last[0].slots, 0);
  EXPECT_LE(first[0].at, last[0].at);
}

TEST_F(AgentsTest, DoesNotCountRestart_WhenAgentIsLost) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  Apply(AgentDisconnected{model::AgentId("a")});
  EXPECT_EQ(trial(1).state, TrialState::kRunning);
  Apply(AgentLost{model::AgentId("a")});
  EXPECT_EQ(trial(1).state, TrialState::kQueued);
  EXPECT_EQ(trial(1).restarts, 0);
  EXPECT_EQ(trial(1).run_id, 2);
  EXPECT_EQ(allocation("1.1.1").exit_code, std::nullopt) << "it is unknown";
}

TEST_F(AgentsTest, ContinuesTrialOfOlderVersion_ThatCountedAttemptsFromZero) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  experiment::Trial& older = rows_.trials.at(model::TrialId(1));
  auto node = rows_.allocations.extract(model::AllocationId("1.1.1"));
  node.key() = node.mapped().id = model::AllocationId("1.1.0");
  node.mapped().run_id = older.run_id = 0;
  older.allocation = node.key();
  rows_.allocations.insert(std::move(node));
  Restart();
  AddAgent("a", 1, {"1.1.0"});
  EXPECT_EQ(trial(1).state, TrialState::kRunning);
  Exit("1.1.0", 1);
  EXPECT_EQ(trial(1).run_id, 1);
  EXPECT_EQ(trial(1).allocation, model::AllocationId("1.1.1"));
}

TEST_F(AgentsTest, ReconcilesRegistration) {
  AddAgent("a", 3);
  Create(MakeConfig());
  Create(MakeConfig());
  Create(MakeConfig());
  Start("1.1.1");
  Start("2.2.1");
  Apply(AgentDisconnected{model::AgentId("a")});
  AgentRegistered back;
  back.agent.id = model::AgentId("a");
  back.agent.address = "10.0.0.a";
  back.agent.resource_pool = "default";
  back.agent.slots = {{.id = 0}, {.id = 1}, {.id = 2}};
  back.running = {model::AllocationId("1.1.1"), model::AllocationId("9.9.9")};
  const Outcome outcome = Apply(back);
  EXPECT_EQ(trial(1).state, TrialState::kRunning);
  EXPECT_EQ(trial(2).state, TrialState::kQueued) << "its local task vanished";
  const auto starts = GetEffects<StartTask>(outcome);
  ASSERT_THAT(starts, SizeIs(1)) << "the command is repeated, because it may have been lost";
  EXPECT_EQ(starts[0].spec.allocation, model::AllocationId("3.3.1"));
  const auto stops = GetEffects<StopTask>(outcome);
  ASSERT_THAT(stops, SizeIs(1));
  EXPECT_EQ(stops[0].allocation, model::AllocationId("9.9.9"));
}

TEST_F(AgentsTest, RecordsRunningLocalTask_OnRegistration) {
  AddAgent("a", 1);
  AddAgent("b", 1);
  auto config = MakeConfig();
  config->resources.slots_per_trial = 2;
  Create(config);
  AddAgent("a", 1, {"1.1.1"});  // the fixture checks that memory and rows are equal
  EXPECT_TRUE(allocation("1.1.1").local_tasks[0].started);
  EXPECT_THAT(GetEffects<AnnounceRendezvous>(Start("1.1.1", "b")), SizeIs(1));
}

TEST_F(AgentsTest, SendsNoEffects_WhenTaskVanished) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  AgentRegistered back;
  back.agent.id = model::AgentId("a");
  back.agent.address = "10.0.0.a";
  back.agent.resource_pool = "default";
  back.agent.slots = {{.id = 0}};
  const Outcome outcome = Apply(back);
  EXPECT_THAT(GetEffects<CloseAllocation>(outcome), SizeIs(1));
  EXPECT_THAT(GetEffects<AnnounceRendezvous>(outcome), IsEmpty());
  EXPECT_EQ(trial(1).restarts, 0);
}

TEST_F(AgentsTest, TreatsExitAsStart_WhenStartWasNotReported) {
  AddAgent("a", 1);
  AddAgent("b", 1);
  auto config = MakeConfig();
  config->resources.slots_per_trial = 2;
  Create(config);
  Start("1.1.1", "a");
  EXPECT_THAT(GetEffects<AnnounceRendezvous>(Exit("1.1.1", 0, "b")), SizeIs(1));
}

TEST_F(AgentsTest, KeepsIdleAgentAsDisconnected) {
  AddAgent("a", 1);
  Apply(AgentDisconnected{model::AgentId("a")});
  ASSERT_EQ(cluster_.agents().size(), 1u);
  EXPECT_FALSE(cluster_.agents().begin()->second.connected);
  Apply(AgentLost{model::AgentId("a")});
  EXPECT_TRUE(cluster_.agents().empty());
}

TEST_F(AgentsTest, RegeneratesEffects_AfterRestart) {
  AddAgent("a", 2);
  Create(MakeConfig());
  Create(MakeConfig());
  Start("1.1.1");
  Apply(PauseExperiment{ExperimentId(1)});
  Restart();
  const std::vector<Effect> effects = cluster_.Regenerate();
  Outcome outcome;
  outcome.effects = effects;
  EXPECT_THAT(GetEffects<StartTask>(outcome), SizeIs(1));
  EXPECT_THAT(GetEffects<AnnouncePreemption>(outcome), SizeIs(1));
  EXPECT_THAT(GetEffects<SetDeadline>(outcome), SizeIs(1));
  ASSERT_EQ(cluster_.agents().size(), 1u);
  EXPECT_FALSE(cluster_.agents().begin()->second.connected);
  AddAgent("a", 2, {"1.1.1", "2.2.1"});
  EXPECT_EQ(allocation("2.2.1").state, AllocationState::kRunning);
}

TEST_F(AgentsTest, RestoresAgents_AfterRestart) {
  AddAgent("a", 4);
  AddAgent("b", 4);
  const model::Agent before = cluster_.agents().at(AgentId("b"));
  Restart();
  AddAgent("a", 4);
  model::Agent away = before;
  away.connected = false;
  EXPECT_EQ(cluster_.agents().at(AgentId("b")), away);
  auto config = MakeConfig();
  config->resources.slots_per_trial = 8;
  Create(config);
  EXPECT_THAT(GetEffects<StartTask>(Tick()), IsEmpty()) << "b is not connected yet";
  config->resources.slots_per_trial = 9;
  EXPECT_TRUE(absl::IsInvalidArgument(ExpectRejection(CreateExperiment{.config = config})));
  Apply(DisableAgent{AgentId("b"), true});
  Apply(EnableAgent{AgentId("b")});
  Apply(DisableSlot{AgentId("b"), 3, true});
  Apply(EnableSlot{AgentId("b"), 3});
  EXPECT_TRUE(absl::IsNotFound(ExpectRejection(EnableSlot{AgentId("b"), 4})));
  AddAgent("b", 4);
  EXPECT_THAT(GetEffects<StartTask>(Tick()), SizeIs(2));
  EXPECT_EQ(cluster_.agents().at(AgentId("b")).registered_at, before.registered_at);
}

TEST_F(AgentsTest, DoesNotRewriteUnchangedAgent) {
  AddAgent("a", 4);
  Apply(AgentDisconnected{AgentId("a")});
  AgentRegistered event{.agent = cluster_.agents().at(AgentId("a")), .running = {}};
  EXPECT_THAT(Apply(event).changes, IsEmpty());
  event.agent.version = "2";
  EXPECT_THAT(Apply(event).changes, SizeIs(1));
}

TEST_F(AgentsTest, DoesNotRestoreLostAgents) {
  AddAgent("a", 4);
  Restart();
  Apply(AgentLost{AgentId("a")});
  EXPECT_TRUE(cluster_.agents().empty());
  Restart();
  EXPECT_TRUE(cluster_.agents().empty());
  EXPECT_TRUE(absl::IsNotFound(ExpectRejection(EnableAgent{AgentId("a")})));
}

}  // namespace
}  // namespace det::cluster
