#include "master/store/testing/store_contract.h"

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/store/testing/make_rows.h"
#include <gmock/gmock.h>

namespace det::store {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreContractTest);

void StoreContractTest::Commit(const std::vector<cluster::Change>& changes) {
  if (sequence_ == 0) {
    ASSERT_TRUE(store_->Load().ok());
  }
  const absl::Status status = store_->Commit(++sequence_, changes);
  ASSERT_TRUE(status.ok()) << status;
}

cluster::Image StoreContractTest::Reload() {
  store_ = backend_->Open();
  sequence_ = 0;
  absl::StatusOr<cluster::Image> image = store_->Load();
  EXPECT_TRUE(image.ok()) << image.status();
  return image.ok() ? *std::move(image) : cluster::Image();
}

namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// An experiment in progress, with each field set.
cluster::Image MakeBusyImage() {
  cluster::Image image;
  experiment::Experiment e = MakeExperiment(3);
  e.context_hash = "abc";
  e.warm_start = model::CheckpointId("c0");
  e.forked_from = model::ExperimentId(7);
  e.state = model::ExperimentState::kPaused;
  e.reason = "paused by admin";
  e.progress = 0.1;
  e.best_metric = 0.3;
  e.best_trial = model::TrialId(7);
  e.owner_name = "ann";
  e.queue = {.resource_pool = "gpus",
             .priority = 7,
             .weight = 0.1,
             .position = 2.5,
             .position_set = true,
             .max_slots = 12};
  image.experiments = {e};

  experiment::Trial running = MakeTrial(7, 3);
  running.state = model::TrialState::kStopping;
  running.end_as = model::TrialState::kPaused;
  running.held = true;
  running.reason = "restart 1";
  running.restarts = 1;
  running.run_id = 2;
  running.allocation = model::AllocationId("3.7.2");
  running.latest_checkpoint = model::CheckpointId("c1");
  running.waits_for = model::TrialId(6);
  running.warm_start = model::CheckpointId("c0");
  running.steps_completed = 5'000'000'000;
  running.progress = 1.0 / 3;
  running.runner_state = "training";
  running.best_metric = 0.3;
  running.latest_metric = -kInfinity;
  running.best_steps = 100;
  running.blocked = {model::AgentId("agent-7"), model::AgentId("agent \"8\"")};
  running.suspects = {model::AgentId("agent-9")};
  running.continued_runs = {1, 2};
  running.run_time = absl::Microseconds(5'000'000'001);
  running.no_restart = "a policy forbids it";
  experiment::Trial ended = MakeTrial(8, 3);
  ended.state = model::TrialState::kCompleted;
  ended.ended_at = TimeAt(99.000001);
  image.trials = {running, ended};

  experiment::Allocation a = MakeAllocation(running, 2);
  a.state = model::AllocationState::kPreempting;
  a.local_tasks = {
      {{model::AgentId("agent-0"), {0, 3}}, true, true, 1, 9, "killed \"hard\"", "Xid 79"},
      {{model::AgentId("agent-1"), {1}}, true, false, 0, 0, "", ""}};
  a.preemption_acked = true;
  a.preemption_reason = "a better one came";
  a.deadline = TimeAt(1000.5);
  a.reported = model::ExitReason::kInvalidHp;
  a.reported_message = "lr is too large";
  a.exit_reason = model::ExitReason::kFailed;
  a.exit_message = "rank 1 was killed";
  a.exit_code = 137;
  a.started_at = TimeAt(5);
  a.submitted = 12;
  a.resource_pool = "gpus";
  a.max_slots = 5;
  a.fraction = 0.25;
  a.granted = 3;
  a.saved_at = TimeAt(6);
  image.allocations = {a};

  image.searchers[e.id] = {
      e.id, 4, model::Value::Object{{"rng", "1:2"}, {"x", 1.0}, {"n", 1}, {"big", 1e18}}};
  for (const int64_t sequence : {5, 6, 10}) {
    image.searcher_events.push_back(
        {e.id, sequence, model::Value::List{model::Value::List{"validation", "1", sequence, 2.0}}});
  }
  image.last_experiment = 3;
  image.last_trial = 8;
  image.last_submitted = 12;
  return image;
}

std::vector<cluster::Change> ToChanges(const cluster::Image& image) {
  std::vector<cluster::Change> changes;
  for (const auto& e : image.experiments) changes.push_back(cluster::PutExperiment{e});
  for (const auto& t : image.trials) changes.push_back(cluster::PutTrial{t});
  for (const auto& a : image.allocations) changes.push_back(cluster::PutAllocation{a});
  for (const auto& [id, searcher] : image.searchers) changes.push_back(searcher);
  for (const auto& events : image.searcher_events) changes.push_back(events);
  return changes;
}

TEST_P(StoreContractTest, LoadsNothingFromEmptyDatabase) {
  EXPECT_EQ(Reload(), cluster::Image());
  EXPECT_TRUE(store_->Ping().ok());
}

TEST_P(StoreContractTest, RestoresRows) {
  const cluster::Image image = MakeBusyImage();
  Commit(ToChanges(image));
  EXPECT_EQ(Reload(), image);
}

TEST_P(StoreContractTest, ReplacesEarlierChanges) {
  cluster::Image image = MakeBusyImage();
  Commit(ToChanges(image));
  image.experiments[0].state = model::ExperimentState::kActive;
  image.experiments[0].best_metric.reset();
  image.experiments[0].queue = {.resource_pool = "cpus", .max_slots = std::nullopt};
  image.trials[0].hparams["lr"] = 2.0;
  image.trials[0].end_as.reset();
  image.trials[0].allocation.reset();
  image.trials[0].blocked.clear();
  image.trials[0].suspects.push_back(model::AgentId("agent-10"));
  image.trials[0].continued_runs.push_back(3);
  image.allocations[0].saved_at.reset();
  image.allocations[0].local_tasks[1].exited = true;
  image.searchers.begin()->second.sequence = 9;
  image.searchers.begin()->second.snapshot = model::Value::Object{{"x", 2}};
  // A snapshot replaces the journal before it.
  image.searcher_events.erase(image.searcher_events.begin(), image.searcher_events.begin() + 2);
  Commit(ToChanges(image));
  EXPECT_EQ(Reload(), image);
  // The same after a restart, when this store has not inserted the experiment itself.
  image.experiments[0].progress = 0.75;
  Commit({cluster::PutExperiment{MakeExperiment(3)}, cluster::PutExperiment{image.experiments[0]}});
  EXPECT_EQ(Reload(), image);
}

TEST_P(StoreContractTest, KeepsSearcherEventsAfterSnapshot) {
  const model::ExperimentId id(1);
  const auto events = [&](int64_t sequence) {
    return cluster::AddSearcherEvents{id, sequence, model::Value::List{sequence}};
  };
  const auto snapshot = [&](int64_t sequence) {
    return cluster::PutSearcher{id, sequence, model::Value::Object{{"at", sequence}}};
  };
  const cluster::AddSearcherEvents other{model::ExperimentId(2), 1, model::Value::List{}};
  // In one batch, as a busy master commits.
  Commit({cluster::PutExperiment{MakeExperiment(1)}, cluster::PutExperiment{MakeExperiment(2)},
          snapshot(1), events(2), events(3), snapshot(4), events(5), other});
  Commit({events(6), events(6)});
  cluster::Image image = Reload();
  EXPECT_EQ(image.searchers.at(id), snapshot(4));
  EXPECT_THAT(image.searcher_events, ::testing::ElementsAre(events(5), events(6), other));
  Commit({events(7), snapshot(8)});
  image = Reload();
  EXPECT_EQ(image.searchers.at(id), snapshot(8));
  EXPECT_THAT(image.searcher_events, ::testing::ElementsAre(other));
}

TEST_P(StoreContractTest, LoadsEndedExperiment) {
  cluster::Image image = MakeBusyImage();
  image.experiments[0].state = model::ExperimentState::kCompleted;
  Commit(ToChanges(image));
  Commit({cluster::PutExperiment{MakeExperiment(4)}, cluster::PutTrial{MakeTrial(9, 4)}});
  image.allocations.clear();
  image.last_experiment = image.last_trial = image.last_submitted = 0;
  EXPECT_EQ(*store_->LoadExperiment(model::ExperimentId(3)), image);
  EXPECT_TRUE(absl::IsNotFound(store_->LoadExperiment(model::ExperimentId(5)).status()));
}

TEST_P(StoreContractTest, ReplacesConfigurationOnContinue) {
  experiment::Experiment e = MakeExperiment(1);
  e.state = model::ExperimentState::kCompleted;
  Commit({cluster::PutExperiment{e}});
  e.state = model::ExperimentState::kActive;
  e.config = MakeConfig("longer");
  Commit({cluster::PutExperiment{e}});
  EXPECT_EQ(store_->GetExperiment(e.id)->experiment, e);
  e.state = model::ExperimentState::kError;
  Commit({cluster::PutExperiment{e}});
  Reload();
  e.state = model::ExperimentState::kActive;
  e.config = MakeConfig("longer still");
  Commit({cluster::PutExperiment{e}});
  EXPECT_EQ(store_->GetExperiment(e.id)->experiment, e);
}

TEST_P(StoreContractTest, DoesNotLoadEndedExperiments) {
  cluster::Image image = MakeBusyImage();
  Commit(ToChanges(image));
  image.experiments[0].state = model::ExperimentState::kError;
  image.experiments[0].ended_at = TimeAt(2000);
  image.allocations[0].state = model::AllocationState::kTerminated;
  image.allocations[0].started_at.reset();
  Commit(ToChanges(image));
  cluster::Image expected;
  expected.last_experiment = 3;
  expected.last_trial = 8;
  expected.last_submitted = 12;
  EXPECT_EQ(Reload(), expected);
  EXPECT_EQ(store_->GetExperiment(model::ExperimentId(3))->experiment, image.experiments[0]);
}

TEST_P(StoreContractTest, IgnoresRepeatedBatch) {
  ASSERT_TRUE(store_->Load().ok());
  const model::LogLine own = MakeLine("1.1", 0, "from the master");
  ASSERT_TRUE(store_->Commit(1, {cluster::AddLogLine{own}}).ok());
  ASSERT_TRUE(store_->Commit(1, {cluster::AddLogLine{own}}).ok());
  ASSERT_TRUE(store_->Commit(2, {cluster::AddLogLine{own}}).ok());
  ASSERT_TRUE(store_->Commit(1, {cluster::PutExperiment{MakeExperiment(1)}}).ok());
  EXPECT_THAT(*store_->ListLogs({.task = own.task}), ::testing::SizeIs(2));
  EXPECT_EQ(store_->ListExperiments({})->total, 0);
}

TEST_P(StoreContractTest, CommitsLargeBatch) {
  std::vector<cluster::Change> changes;
  for (int i = 1; i <= 1500; ++i) changes.push_back(cluster::PutTrial{MakeTrial(i, 1)});
  changes.push_back(cluster::PutExperiment{MakeExperiment(1)});
  Commit(changes);
  EXPECT_EQ(Reload().trials.size(), 1500u);
}

TEST_P(StoreContractTest, FencesOlderMaster) {
  Commit({cluster::PutExperiment{MakeExperiment(1)}});
  const std::unique_ptr<Store> newer = backend_->Open();
  ASSERT_TRUE(newer->Load().ok());
  const absl::Status late = store_->Commit(2, {cluster::PutExperiment{MakeExperiment(2)}});
  EXPECT_TRUE(absl::IsAborted(late)) << late;
  EXPECT_TRUE(newer->Commit(1, {cluster::PutExperiment{MakeExperiment(5)}}).ok());
  EXPECT_TRUE(newer->GetExperiment(model::ExperimentId(1)).ok());
  EXPECT_TRUE(absl::IsNotFound(newer->GetExperiment(model::ExperimentId(2)).status()));
  EXPECT_TRUE(newer->GetExperiment(model::ExperimentId(5)).ok());
  // It is still rejected, however often it tries, and for a sequence that is committed.
  EXPECT_TRUE(absl::IsAborted(store_->Commit(1, {})));
}

TEST_P(StoreContractTest, RejectsCommitWithoutLoad) {
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->Commit(1, {})));
}

TEST_P(StoreContractTest, SanitizesText) {
  experiment::Experiment e = MakeExperiment(1);
  e.reason = std::string("nul \0 bad \xff end", 15);
  experiment::Trial t = MakeTrial(1, 1);
  t.hparams = {{"odd", std::string("a\0b", 3)}, {"nan", kNotANumber}, {"slash", "\\u0000"}};
  Commit({cluster::PutExperiment{e}, cluster::PutTrial{t}});
  EXPECT_EQ(store_->GetExperiment(e.id)->experiment.reason,
            "nul \xEF\xBF\xBD bad \xEF\xBF\xBD end");
  const model::Hparams hparams = store_->GetTrial(t.id)->trial.hparams;
  EXPECT_EQ(hparams.at("odd"), model::Value("a\xEF\xBF\xBD"
                                            "b"));
  EXPECT_EQ(hparams.at("nan"), model::Value("NaN"));
  EXPECT_EQ(hparams.at("slash"), model::Value("\\u0000"));
}

TEST_P(StoreContractTest, StoresTimesBeyondCalendarAsInfinite) {
  experiment::Experiment e = MakeExperiment(1);
  e.created_at = absl::InfinitePast();
  e.ended_at = absl::FromUnixSeconds(int64_t{1} << 50);
  Commit({cluster::PutExperiment{e}});
  const experiment::Experiment back = store_->GetExperiment(e.id)->experiment;
  EXPECT_EQ(back.created_at, absl::InfinitePast());
  EXPECT_EQ(back.ended_at, absl::InfiniteFuture());
}

}  // namespace
}  // namespace det::store
