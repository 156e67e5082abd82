#include "master/core/cluster/cluster.h"

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/core/cluster/testing/fixture.h"

namespace det::cluster {
namespace {

using model::ExperimentId;
using model::ExperimentState;
using model::TrialState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using ClusterTest = Fixture;

// Reserved IDs have no rows of the cluster, so memory and rows differ until they are used.
TEST(ReserveIdTest, ReservesEachIdOnce) {
  Cluster cluster{Settings{.cluster_id = "test"}};
  const auto apply = [&cluster](const Event& event) {
    return *cluster.Apply(event, absl::FromUnixSeconds(1'700'000'000));
  };
  EXPECT_EQ(apply(ReserveId{ReserveId::Kind::kExperiment}).reserved, 1);
  EXPECT_EQ(apply(ReserveId{ReserveId::Kind::kTrial}).reserved, 1);
  EXPECT_EQ(apply(ReserveId{ReserveId::Kind::kExperiment}).reserved, 2);
  EXPECT_EQ(apply(CreateExperiment{.config = MakeConfig()}).created, ExperimentId(3));
  EXPECT_NE(cluster.FindTrial(model::TrialId(2)), nullptr);
}

TEST_F(ClusterTest, RunsCommandToCompletion) {
  AddAgent("a", 1);
  const Outcome created = Apply(CreateExperiment{.config = MakeConfig(),
                                                 .original_config = "x: 1",
                                                 .context_hash = "hash",
                                                 .owner = model::UserId(1),
                                                 .request_id = "r"});
  EXPECT_EQ(created.created, ExperimentId(1));
  EXPECT_THAT(GetEffects<ScheduleSoon>(created), SizeIs(1));
  const Outcome placed = Tick();
  const auto orders = GetEffects<StartTask>(placed);
  ASSERT_THAT(orders, SizeIs(1));
  EXPECT_EQ(orders[0].agent, model::AgentId("a"));
  EXPECT_EQ(orders[0].spec.allocation, model::AllocationId("1.1.1"));
  EXPECT_THAT(orders[0].spec.argv, ElementsAre("sh", "-c", "train"));
  EXPECT_THAT(orders[0].spec.slots, ElementsAre(0));
  EXPECT_EQ(orders[0].spec.context_hash, "hash");
  EXPECT_EQ(orders[0].spec.env.at("DET_TRIAL_ID"), "1");
  EXPECT_THAT(orders[0].spec.files.at("info/trial.json"), HasSubstr(R"("trial_id":1)"));
  EXPECT_EQ(trial(1).state, TrialState::kRunning);
  const auto news = GetEffects<AnnounceRendezvous>(Start("1.1.1"));
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_THAT(news[0].nodes, ElementsAre(RendezvousNode{model::AgentId("a"), "10.0.0.a", 1}));
  const Outcome ended = Exit("1.1.1", 0);
  EXPECT_THAT(GetEffects<CloseAllocation>(ended), SizeIs(1));
  EXPECT_EQ(trial(1).state, TrialState::kCompleted);
  EXPECT_EQ(experiment(1).state, ExperimentState::kCompleted);
  EXPECT_EQ(experiment(1).progress, 1);
  EXPECT_EQ(allocation("1.1.1").exit_reason, model::ExitReason::kFinished);
  EXPECT_EQ(cluster_.FindExperiment(ExperimentId(1)), nullptr);
}

TEST_F(ClusterTest, NotifiesWebhooksOncePerState) {
  const auto notified = [&] {
    std::string states;
    for (const model::WebhookEvent& event : std::exchange(rows_.raised, {})) {
      EXPECT_EQ(event.experiment, ExperimentId(1));
      EXPECT_EQ(*event.data.Find("experiment")->Find("state")->AsString(), event.state);
      states += event.state + " ";
    }
    return states;
  };
  Create(MakeConfig());
  EXPECT_EQ(notified(), "ACTIVE ");
  Apply(PauseExperiment{ExperimentId(1)});
  EXPECT_EQ(notified(), "PAUSED ");
  Restart();
  Apply(ActivateExperiment{ExperimentId(1)});
  EXPECT_EQ(notified(), "ACTIVE ");
  Restart();
  Tick();
  EXPECT_EQ(notified(), "") << "a restart does not notify";
  EXPECT_THAT(GetEffects<DeliverWebhooksSoon>(Apply(KillExperiment{ExperimentId(1)})), SizeIs(1));
  EXPECT_EQ(notified(), "CANCELED ") << "intermediate states do not notify";

  auto quiet = MakeConfig();
  quiet->integrations.webhooks.exclude = true;
  Create(quiet);
  EXPECT_EQ(notified(), "");
}

TEST_F(ClusterTest, RunsTrialClassWithLauncher) {
  AddAgent("a", 2);
  auto config = MakeConfig();
  config->entrypoint = "net.cc:Net";
  config->resources.slots_per_trial = 2;
  Apply(CreateExperiment{.config = config});
  const auto orders = GetEffects<StartTask>(Tick());
  ASSERT_THAT(orders, SizeIs(1));
  EXPECT_THAT(orders[0].spec.argv,
              ElementsAre("resolute-launch", "--source", "net.cc", "--class", "Net"));
  EXPECT_THAT(orders[0].spec.slots, ElementsAre(0, 1));
}

TEST_F(ClusterTest, DoesNotOverrideReservedVariables) {
  AddAgent("a", 1);
  auto config = MakeConfig();
  config->environment.variables.cpu = {"DET_TRIAL_ID=9", "A=b=c", "EMPTY", "TWICE=1", "TWICE=2"};
  config->environment.variables.cuda = {"A=gpu"};
  Apply(CreateExperiment{.config = config});
  const auto orders = GetEffects<StartTask>(Tick());
  ASSERT_THAT(orders, SizeIs(1));
  EXPECT_EQ(orders[0].spec.env.at("DET_TRIAL_ID"), "1");
  EXPECT_EQ(orders[0].spec.env.at("A"), "b=c");
  EXPECT_EQ(orders[0].spec.env.at("EMPTY"), "");
  EXPECT_EQ(orders[0].spec.env.at("TWICE"), "2");
}

TEST_F(ClusterTest, RunsPythonClassWithLauncher) {
  AddAgent("a", 1);
  auto config = MakeConfig();
  config->entrypoint = "model_def:MNistTrial";
  Apply(CreateExperiment{.config = config});
  const auto orders = GetEffects<StartTask>(Tick());
  ASSERT_THAT(orders, SizeIs(1));
  EXPECT_THAT(orders[0].spec.argv,
              ElementsAre("python3", "-m", "determined.launch.torch_distributed", "--", "--trial",
                          "model_def:MNistTrial"));
}

TEST_F(ClusterTest, SetsVariablesOfDeterminedLibrary) {
  AddAgent("a", 1);
  AddAgent("b", 1);
  auto config = MakeConfig();
  config->resources.slots_per_trial = 2;
  config->checkpoint_storage.host_path = "/ckpt";
  config->description = std::string(100'000, 'x');
  config->environment.variables.cpu = {"C10D_PORT=1", "DET_USER=other"};
  Apply(CreateExperiment{.config = config, .owner = model::UserId(7), .owner_name = "ann"});
  const auto orders = GetEffects<StartTask>(Tick());
  ASSERT_THAT(orders, SizeIs(2));
  const TaskSpec& second = orders[1].spec;
  EXPECT_EQ(second.env.at("DET_USER"), "ann");
  EXPECT_EQ(second.env.at("DET_STEPS_COMPLETED"), "0");
  EXPECT_EQ(second.env.at("DET_HPARAMS"), "{}");
  EXPECT_THAT(second.env.at("DET_TASK_LOGGING_METADATA"), HasSubstr(R"("trial_id":"1")"));
  EXPECT_EQ(second.env.at("DET_SHARED_FS_HOST_PATH"), "/ckpt");
  EXPECT_EQ(second.env.at("C10D_PORT"), "1");
  EXPECT_EQ(second.env.at("DTRAIN_SSH_PORT"), orders[0].spec.env.at("DTRAIN_SSH_PORT"));
  EXPECT_FALSE(second.env.contains("DET_EXPERIMENT_CONFIG")) << "too long for the kernel";
  EXPECT_THAT(second.files.at("determined/info/trial.json"),
              HasSubstr(R"("description":"xxxxxxx)"));
  EXPECT_THAT(second.files.at("determined/info/trial.json"),
              HasSubstr(R"("inter_node_network_interface":null)"));
  EXPECT_EQ(
      second.files.at("determined/info/rendezvous.json"),
      R"({"container_addrs":["10.0.0.a","10.0.0.b"],"container_rank":1,"container_slot_counts":[1,1]})");
}

TEST_F(ClusterTest, AssignsDistinctPorts) {
  AddAgent("a", 2);
  Apply(CreateExperiment{.config = MakeConfig()});
  Apply(CreateExperiment{.config = MakeConfig()});
  const auto orders = GetEffects<StartTask>(Tick());
  ASSERT_THAT(orders, SizeIs(2));
  std::set<std::string> ports;
  for (const StartTask& order : orders) ports.insert(order.spec.env.at("C10D_PORT"));
  Start("1.1.1");
  Exit("1.1.1", 1);
  for (const StartTask& order : GetEffects<StartTask>(Tick())) {
    EXPECT_TRUE(ports.insert(order.spec.env.at("C10D_PORT")).second);
  }
  EXPECT_THAT(ports, SizeIs(3));
}

TEST_F(ClusterTest, CreatesOneExperiment_WhenRequestIsRepeated) {
  const CreateExperiment request{.config = MakeConfig(), .request_id = "r"};
  EXPECT_EQ(Apply(request).created, ExperimentId(1));
  const Outcome again = Apply(request);
  EXPECT_EQ(again.created, ExperimentId(1));
  EXPECT_THAT(again.changes, IsEmpty());
}

TEST_F(ClusterTest, ReportsWaitReason) {
  auto config = MakeConfig();
  config->resources.slots_per_trial = 4;
  Create(config);
  AddAgent("a", 1);
  Tick();
  const auto reason = cluster_.FindWaitReason(model::AllocationId("1.1.1"));
  ASSERT_TRUE(reason.has_value());
  EXPECT_EQ(reason->kind, scheduler::WaitReason::Kind::kInfeasible);
  EXPECT_THAT(Tick().effects, IsEmpty()) << "a cluster at rest has no effects";
  AddAgent("b", 3);
  EXPECT_THAT(GetEffects<StartTask>(Tick()), SizeIs(2));
  EXPECT_EQ(cluster_.FindWaitReason(model::AllocationId("1.1.1")), std::nullopt);
}

TEST_F(ClusterTest, RestartsFromLatestCheckpoint) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  Apply(Checkpoint("1.1.1", 1, "c1", 100));
  Exit("1.1.1", 137);
  EXPECT_EQ(trial(1).restarts, 1);
  EXPECT_EQ(trial(1).state, TrialState::kQueued);
  EXPECT_THAT(trial(1).reason, HasSubstr("exit code 137"));
  const auto orders = GetEffects<StartTask>(Tick());
  ASSERT_THAT(orders, SizeIs(1));
  EXPECT_EQ(orders[0].spec.allocation, model::AllocationId("1.1.2"));
  EXPECT_EQ(orders[0].spec.env.at("DET_LATEST_CHECKPOINT"), "c1");
  EXPECT_EQ(orders[0].spec.env.at("DET_STEPS_COMPLETED"), "100");
}

TEST_F(ClusterTest, ClearsReason_WhenTrialRecovers) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  Exit("1.1.1", 1);
  EXPECT_THAT(trial(1).reason, HasSubstr("exit code 1"));
  Tick();
  EXPECT_EQ(trial(1).reason, "");
  Exit("1.1.2", 0);
  EXPECT_EQ(trial(1).state, TrialState::kCompleted);
  EXPECT_EQ(trial(1).reason, "");
}

TEST_F(ClusterTest, EndsInError_AfterMaxRestarts) {
  AddAgent("a", 1);
  auto config = MakeConfig();
  config->max_restarts = 2;
  Create(config);
  for (int run = 1; run <= 3; ++run) {
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

TEST_F(ClusterTest, CountsRestartInSingular_WhenOnlyOneIsAllowed) {
  AddAgent("a", 1);
  auto config = MakeConfig();
  config->max_restarts = 1;
  Create(config);
  for (const char* id : {"1.1.1", "1.1.2"}) {
    Start(id);
    Exit(id, 1);
    Tick();
  }
  EXPECT_THAT(experiment(1).reason, HasSubstr("; its only restart is used up"));
}

TEST_F(ClusterTest, DoesNotRestartInvalidCode) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  Apply(EarlyExitReported{model::AllocationId("1.1.1"), model::ExitReason::kInvalidCode,
                          "net.cc:3: error: expected ;"});
  Exit("1.1.1", 1);
  EXPECT_EQ(trial(1).restarts, 0);
  EXPECT_EQ(trial(1).state, TrialState::kError);
  EXPECT_EQ(experiment(1).state, ExperimentState::kError);
  EXPECT_THAT(experiment(1).reason, HasSubstr("net.cc:3"));
}

TEST_F(ClusterTest, KillsQueuedAndRunningTrials) {
  Create(MakeConfig());  // no agent: queued
  Apply(KillExperiment{ExperimentId(1)});
  EXPECT_EQ(experiment(1).state, ExperimentState::kCanceled);
  AddAgent("a", 1);
  Create(MakeConfig());
  const auto stops = GetEffects<StopTask>(Apply(KillExperiment{ExperimentId(2)}));  // assigned
  EXPECT_THAT(stops, SizeIs(1));
  Apply(KillExperiment{ExperimentId(2)});  // again
  Exit("2.2.1", 143);
  EXPECT_EQ(experiment(2).state, ExperimentState::kCanceled);
  EXPECT_EQ(trial(2).state, TrialState::kCanceled);
  EXPECT_TRUE(absl::IsNotFound(ExpectRejection(KillExperiment{ExperimentId(2)})));
}

TEST_F(ClusterTest, NamesUserWhoEndsWork) {
  const auto id = [](int value) { return ExperimentId(value); };
  for (int i = 0; i < 4; ++i) Create(MakeConfig());
  Apply(KillExperiment{id(1), "ada"});
  EXPECT_EQ(experiment(1).reason, "killed by ada");
  Apply(CancelExperiment{id(2), "ada"});
  EXPECT_EQ(experiment(2).reason, "canceled by ada");
  Apply(KillTrial{model::TrialId(3), "ada"});
  EXPECT_EQ(trial(3).reason, "killed by ada");
  Apply(KillExperiment{id(4)});
  EXPECT_EQ(experiment(4).reason, "killed by a user");
}

TEST_F(ClusterTest, PausesAndResumes) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  const Outcome paused = Apply(PauseExperiment{ExperimentId(1)});
  EXPECT_THAT(GetEffects<AnnouncePreemption>(paused), SizeIs(1));
  EXPECT_THAT(GetEffects<SetDeadline>(paused), SizeIs(1));
  Apply(Checkpoint("1.1.1", 1, "c1", 50));
  Apply(PreemptionAcked{model::AllocationId("1.1.1")});
  Exit("1.1.1", 0);
  EXPECT_EQ(trial(1).state, TrialState::kPaused);
  EXPECT_THAT(GetEffects<StartTask>(Tick()), IsEmpty());
  Apply(ActivateExperiment{ExperimentId(1)});
  const auto orders = GetEffects<StartTask>(Tick());
  ASSERT_THAT(orders, SizeIs(1));
  EXPECT_EQ(orders[0].spec.env.at("DET_LATEST_CHECKPOINT"), "c1");
}

TEST_F(ClusterTest, RunsAgain_WhenActivatedDuringPause) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  Apply(PauseExperiment{ExperimentId(1)});
  Apply(ActivateExperiment{ExperimentId(1)});
  Apply(PreemptionAcked{model::AllocationId("1.1.1")});
  Exit("1.1.1", 0);
  EXPECT_EQ(trial(1).state, TrialState::kQueued);
  EXPECT_THAT(GetEffects<StartTask>(Tick()), SizeIs(1));
}

TEST_F(ClusterTest, StopsAllocation_WhenPreemptionTimesOut) {
  AddAgent("a", 1);
  auto config = MakeConfig();
  config->preemption_timeout_seconds = 10;
  Create(config);
  Start("1.1.1");
  Apply(CancelExperiment{ExperimentId(1)});
  // If the clock is set back, the timer is early: the rest is waited for.
  EXPECT_THAT(GetEffects<SetDeadline>(Apply(AllocationDeadline{model::AllocationId("1.1.1")})),
              ElementsAre(SetDeadline{model::AllocationId("1.1.1"), now_ + absl::Seconds(10)}));
  now_ += absl::Seconds(10);
  EXPECT_THAT(GetEffects<StopTask>(Apply(AllocationDeadline{model::AllocationId("1.1.1")})),
              SizeIs(1));
  Exit("1.1.1", 137);
  EXPECT_EQ(experiment(1).state, ExperimentState::kCanceled);
}

TEST_F(ClusterTest, RejectsRequestsInWrongState) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  Apply(CancelExperiment{ExperimentId(1)});
  const absl::Status status = ExpectRejection(PauseExperiment{ExperimentId(1)});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "experiment 1 is STOPPING_CANCELED; only ACTIVE experiments can be paused");
  EXPECT_TRUE(absl::IsNotFound(ExpectRejection(ActivateExperiment{ExperimentId(5)})));
}

TEST_F(ClusterTest, RunsRandomSearchWithinLimits) {
  AddAgent("a", 2);
  auto config = MakeConfig();
  config->searcher.name = "random";
  config->searcher.max_trials = 3;
  config->searcher.max_concurrent_trials = 2;
  config->hyperparameters["lr"] = {model::DoubleHparam{0, 1, std::nullopt}};
  Create(config);
  EXPECT_EQ(rows_.trials.size(), 2u);
  EXPECT_NE(trial(1).hparams, trial(2).hparams);
  Start("1.1.1");
  Exit("1.1.1", 0);
  Tick();
  EXPECT_EQ(rows_.trials.size(), 3u);
  Exit("1.2.1", 0);
  Exit("1.3.1", 0);
  EXPECT_EQ(experiment(1).state, ExperimentState::kCompleted);
}

TEST_F(ClusterTest, CancelsExperiment_WhenOnlyTrialIsKilled) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Apply(KillTrial{model::TrialId(1)});
  Exit("1.1.1", 143);
  EXPECT_EQ(trial(1).state, TrialState::kCanceled);
  EXPECT_EQ(experiment(1).state, ExperimentState::kCanceled);
}

}  // namespace
}  // namespace det::cluster
