#include "master/cluster/cluster.h"

#include <cmath>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/cluster/testing/fixture.h"

namespace det::cluster {
namespace {

using model::AllocationState;
using model::ExperimentId;
using model::ExperimentState;
using model::TrialState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using ClusterTest = Fixture;

model::MetricReport Validation(int trial, int64_t steps, model::Value loss) {
  model::MetricReport report;
  report.trial = model::TrialId(trial);
  report.group = "validation";
  report.steps_completed = steps;
  report.metrics = model::Value::Object{{"loss", std::move(loss)}};
  return report;
}

CheckpointReported Checkpoint(const std::string& allocation, int trial, const std::string& id,
                              int64_t steps) {
  CheckpointReported event;
  event.allocation = model::AllocationId(allocation);
  event.checkpoint.id = model::CheckpointId(id);
  event.checkpoint.trial = model::TrialId(trial);
  event.checkpoint.allocation = event.allocation;
  event.checkpoint.steps_completed = steps;
  return event;
}

TEST_F(ClusterTest, RunsACommandToItsEnd) {
  AddAgent("a", 1);
  const Outcome created = Apply(CreateExperiment{.config = MakeConfig(),
                                                 .original_config = "x: 1",
                                                 .context_hash = "hash",
                                                 .owner = model::UserId(1),
                                                 .request_id = "r"});
  EXPECT_EQ(created.created, ExperimentId(1));
  EXPECT_THAT(Of<ScheduleSoon>(created), SizeIs(1));
  const Outcome placed = Tick();
  const auto orders = Of<StartTask>(placed);
  ASSERT_THAT(orders, SizeIs(1));
  EXPECT_EQ(orders[0].agent, model::AgentId("a"));
  EXPECT_EQ(orders[0].spec.allocation, model::AllocationId("1.1.0"));
  EXPECT_THAT(orders[0].spec.argv, ElementsAre("sh", "-c", "train"));
  EXPECT_THAT(orders[0].spec.slots, ElementsAre(0));
  EXPECT_EQ(orders[0].spec.context_hash, "hash");
  EXPECT_EQ(orders[0].spec.env.at("DET_TRIAL_ID"), "1");
  EXPECT_THAT(orders[0].spec.files.at("info/trial.json"), HasSubstr(R"("trial_id":1)"));
  EXPECT_EQ(trial(1).state, TrialState::kRunning);
  const auto news = Of<AnnounceRendezvous>(Start("1.1.0"));
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_THAT(news[0].nodes, ElementsAre(RendezvousNode{model::AgentId("a"), "10.0.0.a", 1}));
  const Outcome ended = Exit("1.1.0", 0);
  EXPECT_THAT(Of<CloseAllocation>(ended), SizeIs(1));
  EXPECT_EQ(trial(1).state, TrialState::kCompleted);
  EXPECT_EQ(experiment(1).state, ExperimentState::kCompleted);
  EXPECT_EQ(experiment(1).progress, 1);
  EXPECT_EQ(allocation("1.1.0").exit_reason, model::ExitReason::kFinished);
  EXPECT_EQ(cluster_.FindExperiment(ExperimentId(1)), nullptr);
}

TEST_F(ClusterTest, ATrialClassIsRunByTheLauncher) {
  AddAgent("a", 2);
  auto config = MakeConfig();
  config->entrypoint = "net.cc:Net";
  config->resources.slots_per_trial = 2;
  Apply(CreateExperiment{.config = config});
  const auto orders = Of<StartTask>(Tick());
  ASSERT_THAT(orders, SizeIs(1));
  EXPECT_THAT(orders[0].spec.argv,
              ElementsAre("resolute-launch", "--source", "net.cc", "--class", "Net"));
  EXPECT_THAT(orders[0].spec.slots, ElementsAre(0, 1));
}

TEST_F(ClusterTest, UserVariablesNeverOverrideOurs) {
  AddAgent("a", 1);
  auto config = MakeConfig();
  config->environment.variables.cpu = {"DET_TRIAL_ID=9", "A=b=c", "EMPTY", "TWICE=1", "TWICE=2"};
  config->environment.variables.cuda = {"A=gpu"};
  Apply(CreateExperiment{.config = config});
  const auto orders = Of<StartTask>(Tick());
  ASSERT_THAT(orders, SizeIs(1));
  EXPECT_EQ(orders[0].spec.env.at("DET_TRIAL_ID"), "1");
  EXPECT_EQ(orders[0].spec.env.at("A"), "b=c");
  EXPECT_EQ(orders[0].spec.env.at("EMPTY"), "");
  EXPECT_EQ(orders[0].spec.env.at("TWICE"), "2");
}

TEST_F(ClusterTest, APythonClassIsRunByItsOwnLauncher) {
  AddAgent("a", 1);
  auto config = MakeConfig();
  config->entrypoint = "model_def:MNistTrial";
  Apply(CreateExperiment{.config = config});
  const auto orders = Of<StartTask>(Tick());
  ASSERT_THAT(orders, SizeIs(1));
  EXPECT_THAT(orders[0].spec.argv,
              ElementsAre("python3", "-m", "determined.launch.torch_distributed", "--", "--trial",
                          "model_def:MNistTrial"));
}

TEST_F(ClusterTest, TheSameRequestMakesOneExperiment) {
  const CreateExperiment request{.config = MakeConfig(), .request_id = "r"};
  EXPECT_EQ(Apply(request).created, ExperimentId(1));
  const Outcome again = Apply(request);
  EXPECT_EQ(again.created, ExperimentId(1));
  EXPECT_THAT(again.changes, IsEmpty());
}

TEST_F(ClusterTest, WaitsForSlotsAndSaysWhy) {
  AddAgent("a", 1);
  auto config = MakeConfig();
  config->resources.slots_per_trial = 4;
  Create(config);
  const auto* reason = cluster_.FindWaitReason(model::AllocationId("1.1.0"));
  ASSERT_NE(reason, nullptr);
  EXPECT_EQ(reason->kind, scheduler::WaitReason::Kind::kInfeasible);
  EXPECT_THAT(Tick().effects, IsEmpty()) << "rest must be quiet";
  AddAgent("b", 3);
  EXPECT_THAT(Of<StartTask>(Tick()), SizeIs(2));
  EXPECT_EQ(cluster_.FindWaitReason(model::AllocationId("1.1.0")), nullptr);
}

TEST_F(ClusterTest, AFailureRestartsFromTheLatestCheckpoint) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.0");
  Apply(Checkpoint("1.1.0", 1, "c1", 100));
  Exit("1.1.0", 137);
  EXPECT_EQ(trial(1).restarts, 1);
  EXPECT_EQ(trial(1).state, TrialState::kQueued);
  EXPECT_THAT(trial(1).reason, HasSubstr("exit code 137"));
  const auto orders = Of<StartTask>(Tick());
  ASSERT_THAT(orders, SizeIs(1));
  EXPECT_EQ(orders[0].spec.allocation, model::AllocationId("1.1.1"));
  EXPECT_EQ(orders[0].spec.env.at("DET_LATEST_CHECKPOINT"), "c1");
  EXPECT_EQ(orders[0].spec.env.at("DET_STEPS_COMPLETED"), "100");
}

TEST_F(ClusterTest, ATrialThatRecoversDoesNotKeepTheReasonOfItsRestart) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.0");
  Exit("1.1.0", 1);
  EXPECT_THAT(trial(1).reason, HasSubstr("exit code 1"));
  Tick();
  EXPECT_EQ(trial(1).reason, "");
  Exit("1.1.1", 0);
  EXPECT_EQ(trial(1).state, TrialState::kCompleted);
  EXPECT_EQ(trial(1).reason, "");
}

TEST_F(ClusterTest, PastMaxRestartsTheExperimentEndsInErrorWithTheReason) {
  AddAgent("a", 1);
  auto config = MakeConfig();
  config->max_restarts = 2;
  Create(config);
  for (int run = 0; run < 3; ++run) {
    const std::string id = "1.1." + std::to_string(run);
    Start(id);
    Exit(id, 0, "a", 9);
    Tick();
  }
  EXPECT_EQ(trial(1).state, TrialState::kError);
  EXPECT_EQ(trial(1).restarts, 2);
  EXPECT_EQ(experiment(1).state, ExperimentState::kError);
  EXPECT_THAT(experiment(1).reason, HasSubstr("killed by signal 9 (SIGKILL)"));
  EXPECT_THAT(experiment(1).reason, HasSubstr("all 2 restarts are used up"));
}

TEST_F(ClusterTest, InvalidCodeIsNotRestarted) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.0");
  Apply(EarlyExitReported{model::AllocationId("1.1.0"), model::ExitReason::kInvalidCode,
                          "net.cc:3: error: expected ;"});
  Exit("1.1.0", 1);
  EXPECT_EQ(trial(1).restarts, 0);
  EXPECT_EQ(trial(1).state, TrialState::kError);
  EXPECT_EQ(experiment(1).state, ExperimentState::kError);
  EXPECT_THAT(experiment(1).reason, HasSubstr("net.cc:3"));
}

TEST_F(ClusterTest, AFailedShareStopsTheOthersOfItsGang) {
  AddAgent("a", 1);
  AddAgent("b", 1);
  auto config = MakeConfig();
  config->resources.slots_per_trial = 2;
  Create(config);
  Start("1.1.0", "a");
  EXPECT_THAT(Of<AnnounceRendezvous>(Start("1.1.0", "b")), SizeIs(1));
  const auto stops = Of<StopTask>(Exit("1.1.0", 1, "a"));
  ASSERT_THAT(stops, SizeIs(1));
  EXPECT_EQ(stops[0].agent, model::AgentId("b"));
  EXPECT_THAT(Exit("1.1.0", 143, "b").effects, ::testing::Not(IsEmpty()));
  EXPECT_THAT(allocation("1.1.0").exit_message, HasSubstr("on a ended with exit code 1"));
  EXPECT_EQ(trial(1).restarts, 1);
}

TEST_F(ClusterTest, KillEndsWhatIsQueuedAndWhatRuns) {
  Create(MakeConfig());  // no agent: queued
  Apply(KillExperiment{ExperimentId(1)});
  EXPECT_EQ(experiment(1).state, ExperimentState::kCanceled);
  AddAgent("a", 1);
  Create(MakeConfig());
  const auto stops = Of<StopTask>(Apply(KillExperiment{ExperimentId(2)}));  // assigned
  EXPECT_THAT(stops, SizeIs(1));
  Apply(KillExperiment{ExperimentId(2)});  // again
  Exit("2.2.0", 143);
  EXPECT_EQ(experiment(2).state, ExperimentState::kCanceled);
  EXPECT_EQ(trial(2).state, TrialState::kCanceled);
  EXPECT_TRUE(absl::IsNotFound(Refused(KillExperiment{ExperimentId(2)})));
}

TEST_F(ClusterTest, PauseSavesAndActivateResumes) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.0");
  const Outcome paused = Apply(PauseExperiment{ExperimentId(1)});
  EXPECT_THAT(Of<AnnouncePreemption>(paused), SizeIs(1));
  EXPECT_THAT(Of<SetDeadline>(paused), SizeIs(1));
  Apply(Checkpoint("1.1.0", 1, "c1", 50));
  Apply(PreemptionAcked{model::AllocationId("1.1.0")});
  Exit("1.1.0", 0);
  EXPECT_EQ(trial(1).state, TrialState::kPaused);
  EXPECT_THAT(Of<StartTask>(Tick()), IsEmpty());
  Apply(ActivateExperiment{ExperimentId(1)});
  const auto orders = Of<StartTask>(Tick());
  ASSERT_THAT(orders, SizeIs(1));
  EXPECT_EQ(orders[0].spec.env.at("DET_LATEST_CHECKPOINT"), "c1");
}

TEST_F(ClusterTest, ActivateBeforeThePauseIsDoneRunsAgain) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.0");
  Apply(PauseExperiment{ExperimentId(1)});
  Apply(ActivateExperiment{ExperimentId(1)});
  Apply(PreemptionAcked{model::AllocationId("1.1.0")});
  Exit("1.1.0", 0);
  EXPECT_EQ(trial(1).state, TrialState::kQueued);
  EXPECT_THAT(Of<StartTask>(Tick()), SizeIs(1));
}

TEST_F(ClusterTest, APreemptionThatIsNotObeyedBecomesAStop) {
  AddAgent("a", 1);
  auto config = MakeConfig();
  config->preemption_timeout_seconds = 10;
  Create(config);
  Start("1.1.0");
  Apply(CancelExperiment{ExperimentId(1)});
  EXPECT_THAT(Apply(AllocationDeadline{model::AllocationId("1.1.0")}).effects, IsEmpty());
  now_ += absl::Seconds(10);
  EXPECT_THAT(Of<StopTask>(Apply(AllocationDeadline{model::AllocationId("1.1.0")})), SizeIs(1));
  Exit("1.1.0", 137);
  EXPECT_EQ(experiment(1).state, ExperimentState::kCanceled);
}

TEST_F(ClusterTest, ALostAgentCostsNoRestart) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.0");
  Apply(AgentDisconnected{model::AgentId("a")});
  EXPECT_EQ(trial(1).state, TrialState::kRunning);
  Apply(AgentLost{model::AgentId("a")});
  EXPECT_EQ(trial(1).state, TrialState::kQueued);
  EXPECT_EQ(trial(1).restarts, 0);
  EXPECT_EQ(trial(1).run_id, 1);
  EXPECT_EQ(allocation("1.1.0").exit_code, std::nullopt) << "nobody knows it";
}

TEST_F(ClusterTest, ARegistrationIsReconciled) {
  AddAgent("a", 3);
  Create(MakeConfig());
  Create(MakeConfig());
  Create(MakeConfig());
  Start("1.1.0");
  Start("2.2.0");
  Apply(AgentDisconnected{model::AgentId("a")});
  AgentRegistered back;
  back.agent.id = model::AgentId("a");
  back.agent.address = "10.0.0.a";
  back.agent.resource_pool = "default";
  back.agent.slots = {{.id = 0}, {.id = 1}, {.id = 2}};
  back.running = {model::AllocationId("1.1.0"), model::AllocationId("9.9.9")};
  const Outcome outcome = Apply(back);
  EXPECT_EQ(trial(1).state, TrialState::kRunning);
  EXPECT_EQ(trial(2).state, TrialState::kQueued) << "its share is gone";
  const auto starts = Of<StartTask>(outcome);
  ASSERT_THAT(starts, SizeIs(1)) << "the order that may have been lost is repeated";
  EXPECT_EQ(starts[0].spec.allocation, model::AllocationId("3.3.0"));
  const auto stops = Of<StopTask>(outcome);
  ASSERT_THAT(stops, SizeIs(1));
  EXPECT_EQ(stops[0].allocation, model::AllocationId("9.9.9"));
}

TEST_F(ClusterTest, AShareOfAGangThatIsFoundRunningIsWrittenDown) {
  AddAgent("a", 1);
  AddAgent("b", 1);
  auto config = MakeConfig();
  config->resources.slots_per_trial = 2;
  Create(config);
  AddAgent("a", 1, {"1.1.0"});  // the fixture compares memory and rows
  EXPECT_TRUE(allocation("1.1.0").shares[0].started);
  EXPECT_THAT(Of<AnnounceRendezvous>(Start("1.1.0", "b")), SizeIs(1));
}

TEST_F(ClusterTest, AnAgentThatComesBackWithoutItsTaskGetsNoNewsOfIt) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.0");
  AgentRegistered back;
  back.agent.id = model::AgentId("a");
  back.agent.address = "10.0.0.a";
  back.agent.resource_pool = "default";
  back.agent.slots = {{.id = 0}};
  const Outcome outcome = Apply(back);
  EXPECT_THAT(Of<CloseAllocation>(outcome), SizeIs(1));
  EXPECT_THAT(Of<AnnounceRendezvous>(outcome), IsEmpty());
  EXPECT_EQ(trial(1).restarts, 0);
}

TEST_F(ClusterTest, OnlyCheckpointsMoveTheResumePositionAndNeverBack) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.0");
  Apply(ValidationReported{model::AllocationId("1.1.0"), Validation(1, 300, 0.5)});
  EXPECT_EQ(trial(1).steps_completed, 0);
  Apply(Checkpoint("1.1.0", 1, "c1", 100));
  Apply(Checkpoint("1.1.0", 1, "c2", 200));
  Apply(Checkpoint("1.1.0", 1, "c1", 100));
  EXPECT_EQ(trial(1).latest_checkpoint, model::CheckpointId("c2"));
  EXPECT_EQ(trial(1).steps_completed, 200);
}

TEST_F(ClusterTest, AKilledExperimentKeepsItsProgressAndTheRealExitCode) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.0");
  Apply(ProgressReported{model::AllocationId("1.1.0"), model::TrialId(1), 0.25, "training"});
  Apply(KillExperiment{ExperimentId(1)});
  Exit("1.1.0", 137);
  EXPECT_EQ(experiment(1).progress, 0.25);
  EXPECT_EQ(allocation("1.1.0").exit_code, 137);
}

TEST_F(ClusterTest, AnExitWithoutTheNewsOfTheStartIsAStartToo) {
  AddAgent("a", 1);
  AddAgent("b", 1);
  auto config = MakeConfig();
  config->resources.slots_per_trial = 2;
  Create(config);
  Start("1.1.0", "a");
  EXPECT_THAT(Of<AnnounceRendezvous>(Exit("1.1.0", 0, "b")), SizeIs(1));
}

TEST_F(ClusterTest, AnIdleAgentThatGoesAwayIsKeptAsAway) {
  AddAgent("a", 1);
  Apply(AgentDisconnected{model::AgentId("a")});
  ASSERT_EQ(cluster_.agents().size(), 1u);
  EXPECT_FALSE(cluster_.agents().begin()->second.connected);
  Apply(AgentLost{model::AgentId("a")});
  EXPECT_TRUE(cluster_.agents().empty());
}

TEST_F(ClusterTest, ARestartedMasterSendsWhatIsStillCalledFor) {
  AddAgent("a", 2);
  Create(MakeConfig());
  Create(MakeConfig());
  Start("1.1.0");
  Apply(PauseExperiment{ExperimentId(1)});
  Restart();
  const std::vector<Effect> effects = cluster_.Regenerate();
  Outcome outcome;
  outcome.effects = effects;
  EXPECT_THAT(Of<StartTask>(outcome), SizeIs(1));
  EXPECT_THAT(Of<AnnouncePreemption>(outcome), SizeIs(1));
  EXPECT_THAT(Of<SetDeadline>(outcome), SizeIs(1));
  ASSERT_EQ(cluster_.agents().size(), 1u);
  EXPECT_FALSE(cluster_.agents().begin()->second.connected);
  AddAgent("a", 2, {"1.1.0", "2.2.0"});
  EXPECT_EQ(allocation("2.2.0").state, AllocationState::kRunning);
}

TEST_F(ClusterTest, ValidationsReachTheSearcherAndTheBestIsKept) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.0");
  const model::AllocationId id("1.1.0");
  EXPECT_TRUE(Apply(ValidationReported{id, Validation(1, 10, 0.5)}).best_so_far);
  EXPECT_FALSE(Apply(ValidationReported{id, Validation(1, 20, 0.7)}).best_so_far);
  EXPECT_FALSE(Apply(ValidationReported{id, Validation(1, 30, std::nan(""))}).best_so_far);
  EXPECT_FALSE(Apply(ValidationReported{id, Validation(1, 35, "NaN")}).best_so_far);
  EXPECT_TRUE(Apply(ValidationReported{id, Validation(1, 40, 0.1)}).best_so_far);
  EXPECT_TRUE(Apply(ValidationReported{id, Validation(1, 40, 0.1)}).best_so_far) << "repeated";
  EXPECT_EQ(experiment(1).best_metric, 0.1);
  EXPECT_EQ(experiment(1).best_trial, model::TrialId(1));
  EXPECT_EQ(trial(1).latest_metric, 0.1);
}

TEST_F(ClusterTest, AMissingSearcherMetricIsSaidInTheLog) {
  AddAgent("a", 1);
  Create(MakeConfig());
  model::MetricReport report = Validation(1, 10, 0.5);
  report.metrics = model::Value::Object{{"accuracy", 0.5}};
  Apply(ValidationReported{model::AllocationId("1.1.0"), report});
  ASSERT_FALSE(rows_.lines.empty());
  EXPECT_THAT(rows_.lines.back().text, HasSubstr("has no metric loss"));
}

TEST_F(ClusterTest, StaleAndRepeatedFactsChangeNothing) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.0");
  EXPECT_THAT(Start("1.1.0").changes, IsEmpty());
  EXPECT_THAT(Start("7.7.7").changes, IsEmpty());
  Exit("1.1.0", 1);
  Tick();
  EXPECT_THAT(Exit("1.1.0", 1).changes, IsEmpty());
  EXPECT_THAT(
      Apply(ValidationReported{model::AllocationId("1.1.0"), Validation(1, 10, 0.5)}).changes,
      IsEmpty());
  EXPECT_THAT(Apply(Checkpoint("1.1.0", 1, "late", 10)).changes, IsEmpty());
  EXPECT_THAT(Apply(AgentLost{model::AgentId("zz")}).changes, IsEmpty());
  EXPECT_EQ(trial(1).restarts, 1);
}

TEST_F(ClusterTest, RefusalsNameTheStateAndChangeNothing) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.0");
  Apply(CancelExperiment{ExperimentId(1)});
  const absl::Status status = Refused(PauseExperiment{ExperimentId(1)});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "experiment 1 is STOPPING_CANCELED; only ACTIVE experiments can be paused");
  EXPECT_TRUE(absl::IsNotFound(Refused(ActivateExperiment{ExperimentId(5)})));
}

TEST_F(ClusterTest, RandomSearchRunsItsTrialsWithinItsLimits) {
  AddAgent("a", 2);
  auto config = MakeConfig();
  config->searcher.name = "random";
  config->searcher.max_trials = 3;
  config->searcher.max_concurrent_trials = 2;
  config->hyperparameters["lr"] = {model::DoubleHparam{0, 1, std::nullopt}};
  Create(config);
  EXPECT_EQ(rows_.trials.size(), 2u);
  EXPECT_NE(trial(1).hparams, trial(2).hparams);
  Start("1.1.0");
  Exit("1.1.0", 0);
  Tick();
  EXPECT_EQ(rows_.trials.size(), 3u);
  Exit("1.2.0", 0);
  Exit("1.3.0", 0);
  EXPECT_EQ(experiment(1).state, ExperimentState::kCompleted);
}

TEST_F(ClusterTest, KillingTheOnlyTrialCancelsTheExperiment) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Apply(KillTrial{model::TrialId(1)});
  Exit("1.1.0", 143);
  EXPECT_EQ(trial(1).state, TrialState::kCanceled);
  EXPECT_EQ(experiment(1).state, ExperimentState::kCanceled);
}

}  // namespace
}  // namespace det::cluster
