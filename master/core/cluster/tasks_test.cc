// Tasks that are not trials.
#include <memory>
#include <string>
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
using model::AllocationId;
using model::TaskId;
using model::TaskState;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TasksTest : public Fixture {
 protected:
  static std::shared_ptr<model::TaskDefinition> MakeDefinition() {
    auto definition = std::make_shared<model::TaskDefinition>();
    definition->description = "Command (quick-fox)";
    definition->argv = {"sh", "-c", "echo hi"};
    definition->context_hash = "hash";
    return definition;
  }
  static experiment::Task MakeTask(const std::string& id,
                                   std::shared_ptr<const model::TaskDefinition> definition) {
    experiment::Task task;
    task.id = TaskId(id);
    task.owner = model::UserId(7);
    task.owner_name = "alice";
    task.workspace_name = "Uncategorized";
    task.definition = std::move(definition);
    return task;
  }
  // Creates a command and runs a scheduling pass.
  Outcome CreateCommand(const std::string& id,
                        std::shared_ptr<const model::TaskDefinition> definition) {
    Apply(CreateTask{MakeTask(id, std::move(definition))});
    return Tick();
  }
  bool HasLine(const std::string& task, const std::string& text) const {
    for (const model::LogLine& line : rows_.lines) {
      if (line.task.value() == task && line.text.find(text) != std::string::npos) return true;
    }
    return false;
  }
};

TEST_F(TasksTest, RunsCommandOnSlots_AndCompletesWithExitCode0) {
  AddAgent("a", 1);
  const auto starts = GetEffects<StartTask>(CreateCommand("t", MakeDefinition()));
  ASSERT_THAT(starts, SizeIs(1));
  EXPECT_EQ(starts[0].spec.allocation, AllocationId("t.1"));
  EXPECT_EQ(starts[0].spec.task, TaskId("t"));
  EXPECT_THAT(starts[0].spec.argv, ::testing::ElementsAre("sh", "-c", "echo hi"));
  EXPECT_EQ(starts[0].spec.context_hash, "hash");
  EXPECT_EQ(starts[0].spec.env.at("DET_TASK_TYPE"), "COMMAND");
  EXPECT_EQ(starts[0].spec.env.at("DET_USER"), "alice");
  EXPECT_EQ(task("t").state, TaskState::kRunning);
  Start("t.1");
  const Outcome end = Exit("t.1", 0);
  EXPECT_THAT(GetEffects<TaskChanged>(end), Contains(TaskChanged{TaskId("t")}));
  EXPECT_EQ(task("t").state, TaskState::kCompleted);
  EXPECT_TRUE(task("t").ended_at.has_value());
  EXPECT_EQ(cluster_.FindTask(TaskId("t")), nullptr);
  EXPECT_THAT(cluster_.live_allocations(), IsEmpty());
  EXPECT_TRUE(HasLine("t", "resources exited successfully with a zero exit code"));
}

TEST_F(TasksTest, DoesNotStartAgain_WhenProgramFails) {
  AddAgent("a", 1);
  CreateCommand("t", MakeDefinition());
  Start("t.1");
  Exit("t.1", 3);
  EXPECT_EQ(task("t").state, TaskState::kError);
  EXPECT_THAT(task("t").reason, HasSubstr("exit code 3"));
  EXPECT_TRUE(HasLine("t", "non-zero exit code: 3"));
  EXPECT_THAT(GetEffects<StartTask>(Tick()), IsEmpty());
}

TEST_F(TasksTest, DoesNotStartAgain_WhenAgentIsLostAfterTheStart) {
  AddAgent("a", 1);
  AddAgent("b", 1);
  const auto starts = GetEffects<StartTask>(CreateCommand("t", MakeDefinition()));
  const std::string agent = starts.at(0).agent.value();
  Start("t.1", agent);
  Apply(AgentDisconnected{AgentId(agent)});
  Apply(AgentLost{AgentId(agent)});
  EXPECT_EQ(task("t").state, TaskState::kError);
  EXPECT_THAT(task("t").reason, HasSubstr("the agent was lost"));
}

TEST_F(TasksTest, StartsElsewhere_WhenAgentIsLostBeforeTheStart) {
  AddAgent("a", 1);
  const auto starts = GetEffects<StartTask>(CreateCommand("t", MakeDefinition()));
  ASSERT_THAT(starts, SizeIs(1));
  AddAgent("b", 1);
  Apply(AgentDisconnected{AgentId("a")});
  Apply(AgentLost{AgentId("a")});
  EXPECT_EQ(task("t").state, TaskState::kQueued);
  const auto again = GetEffects<StartTask>(Tick());
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].agent, AgentId("b"));
  EXPECT_EQ(again[0].spec.allocation, AllocationId("t.2"));
}

TEST_F(TasksTest, StopsAndCancels_WhenKilled) {
  AddAgent("a", 1);
  CreateCommand("t", MakeDefinition());
  Start("t.1");
  const auto stops = GetEffects<StopTask>(Apply(KillTasks{{TaskId("t")}, "killed by bob"}));
  ASSERT_THAT(stops, SizeIs(1));
  EXPECT_EQ(task("t").state, TaskState::kStopping);
  Apply(KillTasks{{TaskId("t"), TaskId("unknown")}, "killed by carol"});  // a repetition
  Exit("t.1", 143, "a", 15);
  EXPECT_EQ(task("t").state, TaskState::kCanceled);
  EXPECT_EQ(task("t").reason, "killed by bob");
}

TEST_F(TasksTest, CancelsAtOnce_WhenKilledWhileQueued) {
  CreateCommand("t", MakeDefinition());
  EXPECT_EQ(task("t").state, TaskState::kQueued);
  EXPECT_TRUE(cluster_.FindWaitReason(AllocationId("t.1")).has_value());
  Apply(KillTasks{{TaskId("t")}, "killed by bob"});
  EXPECT_EQ(task("t").state, TaskState::kCanceled);
  EXPECT_EQ(allocation("t.1").state, model::AllocationState::kTerminated);
}

TEST_F(TasksTest, KeepsPortOfReadyService_AcrossRestart) {
  AddAgent("a", 1);
  CreateCommand("t", MakeDefinition());
  Start("t.1");
  Apply(TaskReady{AllocationId("t.1"), 8888});
  Apply(TaskReady{AllocationId("t.1"), 8888});
  EXPECT_EQ(task("t").service_port, 8888);
  Restart();
  EXPECT_EQ(cluster_.FindTask(TaskId("t"))->service_port, 8888);
  EXPECT_TRUE(HasLine("t", "Service of Command (quick-fox) is available"));
  Exit("t.1", 0);
  EXPECT_FALSE(task("t").service_port.has_value());
}

TEST_F(TasksTest, IsNotPreempted_UnlessItsDefinitionSaysSo) {
  Apply(PutResourcePool{.pool = {.name = "default", .preemption = true}});
  AddAgent("a", 1);
  CreateCommand("t", MakeDefinition());
  Start("t.1");
  auto urgent = MakeConfig();
  urgent->resources.priority = 1;
  Create(urgent);
  EXPECT_EQ(allocation("t.1").state, model::AllocationState::kRunning);
  Apply(KillTasks{{TaskId("t")}, "killed"});
  Exit("t.1", 0);
  Tick();
  Start("1.1.1");

  auto definition = MakeDefinition();
  definition->preemptible = true;
  definition->preemption_timeout_seconds = 10;
  Apply(KillExperiment{model::ExperimentId(1)});
  Exit("1.1.1", 143, "a", 15);
  CreateCommand("p", definition);
  Start("p.1");
  Create(urgent);
  EXPECT_EQ(allocation("p.1").state, model::AllocationState::kPreempting);
  Apply(PreemptionAcked{AllocationId("p.1")});
  Exit("p.1", 0);
  EXPECT_EQ(task("p").state, TaskState::kQueued);
  EXPECT_EQ(task("p").run_id, 2);
}

TEST_F(TasksTest, PausesAndActivates_OnlyIfPausable) {
  AddAgent("a", 1);
  CreateCommand("t", MakeDefinition());
  EXPECT_EQ(ExpectRejection(PauseTasks{{TaskId("t")}}).code(),
            absl::StatusCode::kFailedPrecondition);
  experiment::Task generic = MakeTask("g", MakeDefinition());
  generic.kind = model::TaskKind::kGeneric;
  generic.pausable = true;
  Apply(KillTasks{{TaskId("t")}, "killed"});
  Exit("t.1", 0);
  Apply(CreateTask{generic});
  Tick();
  Start("g.1");
  EXPECT_THAT(GetEffects<StopTask>(Apply(PauseTasks{{TaskId("g")}})), SizeIs(1));
  Exit("g.1", 143, "a", 15);
  EXPECT_EQ(task("g").state, TaskState::kPaused);
  Restart();
  AddAgent("a", 1);
  Apply(ActivateTasks{{TaskId("g")}});
  Tick();
  Start("g.2");
  Exit("g.2", 0);
  EXPECT_EQ(task("g").state, TaskState::kCompleted);
}

TEST_F(TasksTest, RefusesMoreSlotsThanThePoolHas) {
  AddAgent("a", 1);
  auto definition = MakeDefinition();
  definition->resources.slots_per_trial = 2;
  EXPECT_EQ(ExpectRejection(CreateTask{MakeTask("t", definition)}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(TasksTest, UsesAuxPool_WithoutSlots) {
  auto definition = MakeDefinition();
  definition->resources.slots_per_trial = 0;
  Apply(PutResourcePool{.pool = {.name = "aux", .description = "", .workspaces = {}},
                        .default_aux = true});
  CreateCommand("t", definition);
  EXPECT_EQ(allocation("t.1").resource_pool, "aux");
}

TEST_F(TasksTest, EndsAfterItsMaxRunTime) {
  AddAgent("a", 1);
  auto definition = MakeDefinition();
  definition->resources.max_run_time = 60;
  CreateCommand("t", definition);
  Start("t.1");
  now_ += absl::Minutes(2);
  EXPECT_THAT(GetEffects<StopTask>(Apply(AllocationDeadline{AllocationId("t.1")})), SizeIs(1));
  Exit("t.1", 0);
  EXPECT_EQ(task("t").state, TaskState::kCanceled);
  EXPECT_THAT(task("t").reason, HasSubstr("max_run_time"));
}

TEST_F(TasksTest, QueuesBehindTheTasksThatWereSubmittedBefore) {
  CreateCommand("z", MakeDefinition());
  CreateCommand("a", MakeDefinition());
  EXPECT_LT(task("z").queue.position, task("a").queue.position);
  Create(MakeConfig());
  EXPECT_LT(task("a").queue.position, experiment(1).queue.position);
}

TEST_F(TasksTest, ChangesItsPlaceInTheQueue) {
  CreateCommand("t", MakeDefinition());
  CreateCommand("u", MakeDefinition());
  Apply(UpdateQueue{{{.job = model::JobId("u"), .priority = 5}}});
  EXPECT_EQ(task("u").queue.priority, 5);
  Apply(UpdateQueue{{{.job = model::JobId("t"), .priority = 5},
                     {.job = model::JobId("u"), .ahead_of = model::JobId("t")}}});
  EXPECT_LT(task("u").queue.position, task("t").queue.position);
  AddAgent("a", 1);
  Tick();
  EXPECT_EQ(task("u").state, TaskState::kRunning);
  EXPECT_EQ(task("t").state, TaskState::kQueued);
  EXPECT_EQ(ExpectRejection(UpdateQueue{{{.job = model::JobId("gone"), .priority = 5}}}).code(),
            absl::StatusCode::kNotFound);
}

TEST_F(TasksTest, CountsAgainstQuotaOfItsOwner) {
  AddAgent("a", 2);
  Apply(PutQuota{{.scope = model::Quota::Scope::kUser, .name = "alice", .max_slots = 1}});
  CreateCommand("t", MakeDefinition());
  CreateCommand("u", MakeDefinition());
  EXPECT_EQ(task("t").state, TaskState::kRunning);
  EXPECT_EQ(task("u").state, TaskState::kQueued);
}

TEST_F(TasksTest, EndsWithTheReason_WhenItsAgentIsDisabled) {
  AddAgent("a", 1);
  CreateCommand("t", MakeDefinition());
  Start("t.1");
  Apply(DisableAgent{AgentId("a"), false});
  Exit("t.1", 143, "a", 15);
  EXPECT_EQ(task("t").state, TaskState::kError);
  EXPECT_THAT(task("t").reason, HasSubstr("agent a was disabled"));
}

TEST_F(TasksTest, ContinuesToItsEnd_WhenItsAgentIsDrained) {
  AddAgent("a", 2);
  CreateCommand("t", MakeDefinition());
  Start("t.1");
  EXPECT_THAT(GetEffects<StopTask>(Apply(DisableAgent{AgentId("a"), true})), IsEmpty());
  CreateCommand("u", MakeDefinition());
  EXPECT_EQ(task("u").state, TaskState::kQueued);
  EXPECT_EQ(task("t").state, TaskState::kRunning);
  Exit("t.1", 0);
  EXPECT_EQ(task("t").state, TaskState::kCompleted);
}

}  // namespace
}  // namespace det::cluster
