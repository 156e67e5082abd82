#include "master/store/store_contract.h"

#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "master/store/testing/make.h"
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

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<int> Ids(const ExperimentPage& page) {
  std::vector<int> ids;
  for (const ExperimentRecord& record : page.experiments) {
    ids.push_back(record.experiment.id.value());
  }
  return ids;
}

std::vector<int> Ids(const TrialPage& page) {
  std::vector<int> ids;
  for (const TrialRecord& record : page.trials) ids.push_back(record.trial.id.value());
  return ids;
}

std::vector<std::string> Ids(const CheckpointPage& page) {
  std::vector<std::string> ids;
  for (const CheckpointEntry& entry : page.checkpoints) ids.push_back(entry.checkpoint.id.value());
  return ids;
}

std::vector<std::string> Texts(const std::vector<LogRecord>& records) {
  std::vector<std::string> texts;
  for (const LogRecord& record : records) texts.push_back(record.line.text);
  return texts;
}

// An experiment in the middle of everything, with each field set.
cluster::Image MakeBusyImage() {
  cluster::Image image;
  experiment::Experiment e = MakeExperiment(3);
  e.context_hash = "abc";
  e.warm_start = model::CheckpointId("c0");
  e.state = model::ExperimentState::kPaused;
  e.reason = "paused by admin";
  e.progress = 0.1;
  e.best_metric = 0.3;
  e.best_trial = model::TrialId(7);
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
  experiment::Trial ended = MakeTrial(8, 3);
  ended.state = model::TrialState::kCompleted;
  ended.ended_at = TimeAt(99.000001);
  image.trials = {running, ended};

  experiment::Allocation a = MakeAllocation(running, 2);
  a.state = model::AllocationState::kPreempting;
  a.shares = {{{model::AgentId("agent-0"), {0, 3}}, true, true, 1, 9, "killed \"hard\""},
              {{model::AgentId("agent-1"), {1}}, true, false, 0, 0, ""}};
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

TEST_P(StoreContractTest, AnEmptyDatabaseLoadsNothing) {
  EXPECT_EQ(Reload(), cluster::Image());
  EXPECT_TRUE(store_->Ping().ok());
}

TEST_P(StoreContractTest, RowsComeBackAsTheyWent) {
  const cluster::Image image = MakeBusyImage();
  Commit(ToChanges(image));
  EXPECT_EQ(Reload(), image);
}

TEST_P(StoreContractTest, LaterChangesReplaceEarlierOnes) {
  cluster::Image image = MakeBusyImage();
  Commit(ToChanges(image));
  image.experiments[0].state = model::ExperimentState::kActive;
  image.experiments[0].best_metric.reset();
  image.trials[0].end_as.reset();
  image.trials[0].allocation.reset();
  image.allocations[0].shares[1].exited = true;
  image.searchers.begin()->second.sequence = 9;
  image.searchers.begin()->second.snapshot = model::Value::Object{{"x", 2}};
  // A snapshot takes the place of the journal before it.
  image.searcher_events.erase(image.searcher_events.begin(), image.searcher_events.begin() + 2);
  Commit(ToChanges(image));
  EXPECT_EQ(Reload(), image);
  // Also after a restart, when the store has not inserted the experiment itself.
  image.experiments[0].progress = 0.75;
  Commit({cluster::PutExperiment{MakeExperiment(3)}, cluster::PutExperiment{image.experiments[0]}});
  EXPECT_EQ(Reload(), image);
}

TEST_P(StoreContractTest, ASearchersJournalGoesOnAfterItsSnapshot) {
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
  EXPECT_THAT(image.searcher_events, ElementsAre(events(5), events(6), other));
  Commit({events(7), snapshot(8)});
  image = Reload();
  EXPECT_EQ(image.searchers.at(id), snapshot(8));
  EXPECT_THAT(image.searcher_events, ElementsAre(other));
}

TEST_P(StoreContractTest, OneExperimentIsLoadedAlsoWhenItIsOver) {
  cluster::Image image = MakeBusyImage();
  image.experiments[0].state = model::ExperimentState::kCompleted;
  Commit(ToChanges(image));
  Commit({cluster::PutExperiment{MakeExperiment(4)}, cluster::PutTrial{MakeTrial(9, 4)}});
  image.allocations.clear();
  image.last_experiment = image.last_trial = image.last_submitted = 0;
  EXPECT_EQ(*store_->LoadExperiment(model::ExperimentId(3)), image);
  EXPECT_TRUE(absl::IsNotFound(store_->LoadExperiment(model::ExperimentId(5)).status()));
}

TEST_P(StoreContractTest, AnExperimentThatGoesOnMayHaveAnotherConfiguration) {
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

TEST_P(StoreContractTest, WhatIsOverIsNotLoadedButCounted) {
  cluster::Image image = MakeBusyImage();
  Commit(ToChanges(image));
  image.experiments[0].state = model::ExperimentState::kError;
  image.experiments[0].ended_at = TimeAt(2000);
  image.allocations[0].state = model::AllocationState::kTerminated;
  image.allocations[0].ended_at = TimeAt(1999);
  Commit(ToChanges(image));
  cluster::Image expected;
  expected.last_experiment = 3;
  expected.last_trial = 8;
  expected.last_submitted = 12;
  EXPECT_EQ(Reload(), expected);
  EXPECT_EQ(store_->GetExperiment(model::ExperimentId(3))->experiment, image.experiments[0]);
}

TEST_P(StoreContractTest, ABatchThatIsGivenAgainChangesNothing) {
  ASSERT_TRUE(store_->Load().ok());
  const model::LogLine own = MakeLine("1.1", 0, "from the master");
  ASSERT_TRUE(store_->Commit(1, {cluster::AddLogLine{own}}).ok());
  ASSERT_TRUE(store_->Commit(1, {cluster::AddLogLine{own}}).ok());
  ASSERT_TRUE(store_->Commit(2, {cluster::AddLogLine{own}}).ok());
  ASSERT_TRUE(store_->Commit(1, {cluster::PutExperiment{MakeExperiment(1)}}).ok());
  EXPECT_THAT(*store_->ListLogs({.task = own.task}), ::testing::SizeIs(2));
  EXPECT_EQ(store_->ListExperiments({})->total, 0);
}

TEST_P(StoreContractTest, ALargeBatchIsOneCommit) {
  std::vector<cluster::Change> changes;
  for (int i = 1; i <= 1500; ++i) changes.push_back(cluster::PutTrial{MakeTrial(i, 1)});
  changes.push_back(cluster::PutExperiment{MakeExperiment(1)});
  Commit(changes);
  EXPECT_EQ(Reload().trials.size(), 1500u);
}

TEST_P(StoreContractTest, TheNewerMasterFencesTheOlderOff) {
  Commit({cluster::PutExperiment{MakeExperiment(1)}});
  const std::unique_ptr<Store> newer = backend_->Open();
  ASSERT_TRUE(newer->Load().ok());
  const absl::Status late = store_->Commit(2, {cluster::PutExperiment{MakeExperiment(2)}});
  EXPECT_TRUE(absl::IsAborted(late)) << late;
  EXPECT_TRUE(newer->Commit(1, {cluster::PutExperiment{MakeExperiment(5)}}).ok());
  EXPECT_THAT(Ids(*newer->ListExperiments({})), ElementsAre(1, 5));
  // Still, however often it tries, and for a sequence that is committed.
  EXPECT_TRUE(absl::IsAborted(store_->Commit(1, {})));
}

TEST_P(StoreContractTest, ACommitNeedsALoad) {
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->Commit(1, {})));
}

TEST_P(StoreContractTest, OddTextsAreKeptReadable) {
  experiment::Experiment e = MakeExperiment(1);
  e.reason = std::string("nul \0 bad \xff end", 15);
  experiment::Trial t = MakeTrial(1, 1);
  t.hparams = {{"odd", std::string("a\0b", 3)}, {"nan", kNan}, {"slash", "\\u0000"}};
  Commit({cluster::PutExperiment{e}, cluster::PutTrial{t}});
  EXPECT_EQ(store_->GetExperiment(e.id)->experiment.reason,
            "nul \xEF\xBF\xBD bad \xEF\xBF\xBD end");
  const model::Hparams hparams = store_->GetTrial(t.id)->trial.hparams;
  EXPECT_EQ(hparams.at("odd"), model::Value("a\xEF\xBF\xBD"
                                            "b"));
  EXPECT_EQ(hparams.at("nan"), model::Value("NaN"));
  EXPECT_EQ(hparams.at("slash"), model::Value("\\u0000"));
}

TEST_P(StoreContractTest, TimesBeyondTheCalendarAreInfinite) {
  experiment::Experiment e = MakeExperiment(1);
  e.created_at = absl::InfinitePast();
  e.ended_at = absl::FromUnixSeconds(int64_t{1} << 50);
  Commit({cluster::PutExperiment{e}});
  const experiment::Experiment back = store_->GetExperiment(e.id)->experiment;
  EXPECT_EQ(back.created_at, absl::InfinitePast());
  EXPECT_EQ(back.ended_at, absl::InfiniteFuture());
}

// ---- lists ----

TEST_P(StoreContractTest, ExperimentsAreListedByFilterSortAndWindow) {
  const UserRecord alice = *store_->PutUser({.username = "alice"});
  const UserRecord bob = *store_->PutUser({.username = "bob"});
  std::vector<cluster::Change> changes;
  for (int i = 1; i <= 5; ++i) {
    experiment::Experiment e = MakeExperiment(i);
    e.owner = i % 2 == 0 ? bob.id : alice.id;
    e.config = MakeConfig(i == 3 ? "Zebra" : absl::StrCat("mnist ", 9 - i));
    e.state = i > 3 ? model::ExperimentState::kCompleted : model::ExperimentState::kActive;
    if (i > 3) e.ended_at = TimeAt(100 - i);
    e.progress = i == 2 ? 0.5 : 0;
    changes.push_back(cluster::PutExperiment{e});
  }
  Commit(changes);

  using Query = ExperimentQuery;
  using Sort = ExperimentQuery::Sort;
  const auto list = [&](const Query& query) { return Ids(*store_->ListExperiments(query)); };
  EXPECT_THAT(list({}), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(list({.descending = true}), ElementsAre(5, 4, 3, 2, 1));
  EXPECT_THAT(list({.sort = Sort::kName}), ElementsAre(3, 5, 4, 2, 1));
  EXPECT_THAT(list({.sort = Sort::kState}), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(list({.sort = Sort::kState, .descending = true}), ElementsAre(5, 4, 3, 2, 1));
  EXPECT_THAT(list({.sort = Sort::kStartTime, .descending = true}), ElementsAre(5, 4, 3, 2, 1));
  // Without an end they come last in either direction.
  EXPECT_THAT(list({.sort = Sort::kEndTime}), ElementsAre(5, 4, 1, 2, 3));
  EXPECT_THAT(list({.sort = Sort::kEndTime, .descending = true}), ElementsAre(4, 5, 3, 2, 1));
  EXPECT_THAT(list({.sort = Sort::kProgress, .descending = true}), ElementsAre(2, 5, 4, 3, 1));
  EXPECT_THAT(list({.sort = Sort::kUser}), ElementsAre(1, 3, 5, 2, 4));
  EXPECT_THAT(list({.name = "MNIST"}), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(list({.name = "%"}), IsEmpty());
  EXPECT_THAT(list({.states = {model::ExperimentState::kCompleted}}), ElementsAre(4, 5));
  EXPECT_THAT(list({.usernames = {"bob"}}), ElementsAre(2, 4));
  EXPECT_THAT(list({.request_id = "request-3"}), ElementsAre(3));
  EXPECT_THAT(list({.request_id = "request"}), IsEmpty());
  EXPECT_THAT(list({.window = {1, 2}}), ElementsAre(2, 3));
  EXPECT_THAT(list({.window = {-2, 0}}), ElementsAre(4, 5));
  EXPECT_THAT(list({.window = {-2, 1}}), ElementsAre(4));
  EXPECT_THAT(list({.window = {9, 3}}), IsEmpty());
  EXPECT_EQ(store_->ListExperiments({.window = {9, 3}, .name = "mnist"})->total, 4);
}

TEST_P(StoreContractTest, ACheckpointStaysItsTrials) {
  Commit({cluster::PutExperiment{MakeExperiment(1)}, cluster::PutTrial{MakeTrial(1, 1)},
          cluster::PutTrial{MakeTrial(2, 1)}, cluster::AddCheckpoint{MakeCheckpoint("a", 1, 10)}});
  Commit({cluster::AddCheckpoint{MakeCheckpoint("a", 2, 99)}});
  const CheckpointEntry entry = *store_->GetCheckpoint(model::CheckpointId("a"));
  EXPECT_EQ(entry.checkpoint.trial, model::TrialId(1));
  EXPECT_EQ(entry.checkpoint.steps_completed, 10);
}

TEST_P(StoreContractTest, AnExperimentCountsWhatItHas) {
  const UserRecord alice = *store_->PutUser({.username = "alice"});
  ASSERT_TRUE(store_->PutContext("abc", std::string(1000, 'x')).ok());
  experiment::Experiment e = MakeExperiment(1);
  e.owner = alice.id;
  e.context_hash = "abc";
  Commit({cluster::PutExperiment{e}, cluster::PutExperiment{MakeExperiment(2)},
          cluster::PutTrial{MakeTrial(1, 1)}, cluster::PutTrial{MakeTrial(2, 1)},
          cluster::PutTrial{MakeTrial(3, 2)}, cluster::AddCheckpoint{MakeCheckpoint("a", 1, 10)},
          cluster::AddCheckpoint{MakeCheckpoint("b", 2, 10)}});
  const ExperimentRecord record = *store_->GetExperiment(e.id);
  EXPECT_EQ(record.experiment, e);
  EXPECT_EQ(record.username, "alice");
  EXPECT_EQ(record.num_trials, 2);
  EXPECT_EQ(record.checkpoint_count, 2);
  EXPECT_EQ(record.checkpoint_size, 2048);
  EXPECT_EQ(record.context_size, 1000);
  EXPECT_TRUE(absl::IsNotFound(store_->GetExperiment(model::ExperimentId(9)).status()));
  using Sort = ExperimentQuery::Sort;
  EXPECT_THAT(Ids(*store_->ListExperiments({.sort = Sort::kNumTrials})), ElementsAre(2, 1));
}

TEST_P(StoreContractTest, TrialsAreListedByFilterSortAndWindow) {
  std::vector<cluster::Change> changes = {cluster::PutExperiment{MakeExperiment(1)},
                                          cluster::PutTrial{MakeTrial(9, 2)}};
  for (int i = 1; i <= 4; ++i) {
    experiment::Trial t = MakeTrial(i, 1);
    if (i != 2) t.best_metric = i == 3 ? kNan : 1.0 / i;
    if (i == 4) t.state = model::TrialState::kError;
    t.steps_completed = 10 * i;
    t.restarts = i % 2;
    changes.push_back(cluster::PutTrial{t});
  }
  Commit(changes);
  using Sort = TrialQuery::Sort;
  const model::ExperimentId id(1);
  const auto list = [&](const TrialQuery& query) { return Ids(*store_->ListTrials(query)); };
  EXPECT_THAT(list({.experiment = id}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(list({.experiment = id, .sort = Sort::kBestMetric}), ElementsAre(4, 1, 3, 2));
  EXPECT_THAT(list({.experiment = id, .sort = Sort::kSteps, .descending = true}),
              ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(list({.experiment = id, .sort = Sort::kRestarts}), ElementsAre(2, 4, 1, 3));
  EXPECT_THAT(list({.experiment = id, .states = {model::TrialState::kError}}), ElementsAre(4));
  EXPECT_THAT(list({.experiment = id, .window = {-1, 0}}), ElementsAre(4));
  EXPECT_EQ(store_->ListTrials({.experiment = id, .window = {0, 1}})->total, 4);
  EXPECT_THAT(list({.experiment = model::ExperimentId(7)}), IsEmpty());
}

TEST_P(StoreContractTest, ATrialShowsItsBestAndLatest) {
  experiment::Trial t = MakeTrial(1, 1);
  t.best_metric = 0.9;
  t.best_steps = 20;
  Commit({cluster::PutExperiment{MakeExperiment(1)}, cluster::PutTrial{t},
          cluster::AddMetrics{MakeReport(1, "validation", 10, 0.5)},
          cluster::AddMetrics{MakeReport(1, "validation", 20, 0.9)},
          cluster::AddMetrics{MakeReport(1, "validation", 30, 0.7)},
          cluster::AddMetrics{MakeReport(1, "validation", 40, kNan)},
          cluster::AddMetrics{MakeReport(1, "training", 50, 0.1)},
          cluster::AddCheckpoint{MakeCheckpoint("a", 1, 10)},
          cluster::AddCheckpoint{MakeCheckpoint("b", 1, 30)},
          cluster::AddCheckpoint{MakeCheckpoint("c", 1, 40)},
          cluster::AddCheckpoint{MakeCheckpoint("d", 1, 50)}});
  const TrialRecord record = *store_->GetTrial(t.id);
  EXPECT_EQ(record.trial, t);
  EXPECT_EQ(record.best_validation, MakeReport(1, "validation", 20, 0.9));
  EXPECT_EQ(record.latest_validation->steps_completed, 40);
  EXPECT_EQ(record.latest_validation->metrics.ToJson(), R"({"accuracy":"NaN"})");
  EXPECT_EQ(record.best_checkpoint, MakeCheckpoint("b", 1, 30));
  EXPECT_EQ(record.checkpoint_count, 4);
  EXPECT_EQ(record.checkpoint_size, 4 * 1024);
  EXPECT_TRUE(absl::IsNotFound(store_->GetTrial(model::TrialId(2)).status()));
}

TEST_P(StoreContractTest, AllocationsAreListedByRun) {
  const experiment::Trial t = MakeTrial(1, 1);
  std::vector<cluster::Change> changes;
  for (const int run : {10, 0, 9}) {
    experiment::Allocation a = MakeAllocation(t, run);
    a.state = run == 10 ? model::AllocationState::kRunning : model::AllocationState::kTerminated;
    changes.push_back(cluster::PutAllocation{a});
  }
  Commit(changes);
  const std::vector<experiment::Allocation> listed = *store_->ListAllocations(t.task);
  ASSERT_EQ(listed.size(), 3u);
  EXPECT_EQ(listed[1].run_id, 9);
  EXPECT_EQ(*store_->GetAllocation(listed[2].id), listed[2]);
  EXPECT_TRUE(absl::IsNotFound(store_->GetAllocation(model::AllocationId("1.1.77")).status()));
  EXPECT_THAT(*store_->ListAllocations(model::TaskId("7.7")), IsEmpty());
}

// ---- bulk data ----

TEST_P(StoreContractTest, MetricsAreKeptOnceAndTheNewestRunCounts) {
  model::MetricReport again = MakeReport(1, "training", 10, 0.2);
  again.run_id = 1;
  model::MetricReport batch = MakeReport(1, "training", 20, 0.3);
  batch.batch_metrics = model::Value::List{model::Value::Object{{"loss", 1.5}}};
  ASSERT_TRUE(
      store_
          ->AddMetrics({MakeReport(1, "training", 10, 0.1), again, batch,
                        MakeReport(1, "validation", 10, 0.4), MakeReport(2, "training", 5, 0.5)})
          .ok());
  // Skipped: the rows are there.
  model::MetricReport other = MakeReport(1, "training", 20, 9.9);
  ASSERT_TRUE(store_->AddMetrics({other, batch}).ok());
  ASSERT_TRUE(store_->AddMetrics({}).ok());

  using Ids = std::vector<model::TrialId>;
  const Ids one = {model::TrialId(1)};
  EXPECT_THAT(*store_->ListMetrics(one, "training"), ElementsAre(again, batch));
  EXPECT_THAT(*store_->ListMetrics(one, ""),
              ElementsAre(again, batch, MakeReport(1, "validation", 10, 0.4)));
  EXPECT_THAT(*store_->ListMetrics({model::TrialId(2), model::TrialId(1)}, "training"),
              ElementsAre(again, batch, MakeReport(2, "training", 5, 0.5)));
  EXPECT_THAT(*store_->ListMetrics({}, ""), IsEmpty());
}

TEST_P(StoreContractTest, CheckpointsComeWithTheirValidation) {
  Commit({cluster::PutExperiment{MakeExperiment(1)}, cluster::PutExperiment{MakeExperiment(2)},
          cluster::PutTrial{MakeTrial(1, 1)}, cluster::PutTrial{MakeTrial(2, 1)},
          cluster::PutTrial{MakeTrial(3, 2)}, cluster::AddCheckpoint{MakeCheckpoint("a", 1, 30)},
          cluster::AddCheckpoint{MakeCheckpoint("b", 2, 10)},
          cluster::AddCheckpoint{MakeCheckpoint("c", 3, 20)},
          cluster::AddMetrics{MakeReport(1, "validation", 30, 0.75)}});
  const CheckpointEntry entry = *store_->GetCheckpoint(model::CheckpointId("a"));
  EXPECT_EQ(entry.checkpoint, MakeCheckpoint("a", 1, 30));
  EXPECT_EQ(entry.experiment, model::ExperimentId(1));
  EXPECT_EQ(entry.hparams, MakeTrial(1, 1).hparams);
  EXPECT_EQ(entry.searcher_metric, 0.75);
  EXPECT_EQ(entry.validation_metrics.ToJson(), R"({"accuracy":0.75})");
  EXPECT_EQ(store_->GetCheckpoint(model::CheckpointId("b"))->searcher_metric, std::nullopt);
  EXPECT_TRUE(absl::IsNotFound(store_->GetCheckpoint(model::CheckpointId("x")).status()));

  const auto list = [&](const CheckpointQuery& query) {
    return Ids(*store_->ListCheckpoints(query));
  };
  EXPECT_THAT(list({}), ElementsAre("b", "c", "a"));
  EXPECT_THAT(list({.descending = true}), ElementsAre("a", "c", "b"));
  EXPECT_THAT(list({.experiment = model::ExperimentId(1)}), ElementsAre("b", "a"));
  EXPECT_THAT(list({.trial = model::TrialId(3)}), ElementsAre("c"));
  EXPECT_THAT(list({.window = {1, 1}}), ElementsAre("c"));
  EXPECT_EQ(store_->ListCheckpoints({.window = {0, 1}})->total, 3);
}

TEST_P(StoreContractTest, LogLinesAreKeptOnceInOrder) {
  ASSERT_TRUE(store_->AddLogLines({MakeLine("1.1", 1, "one"), MakeLine("1.1", 2, "two")}).ok());
  // The agent sends again what it has no answer for.
  ASSERT_TRUE(store_->AddLogLines({MakeLine("1.1", 2, "two"), MakeLine("1.1", 3, "three")}).ok());
  // Without a number nothing is taken for a repetition.
  ASSERT_TRUE(store_->AddLogLines({MakeLine("1.1", 0, "own"), MakeLine("1.1", 0, "own")}).ok());
  ASSERT_TRUE(store_->AddLogLines({MakeLine("2.2", 1, "elsewhere")}).ok());
  const LogQuery query = {.task = model::TaskId("1.1")};
  const std::vector<LogRecord> all = *store_->ListLogs(query);
  EXPECT_THAT(Texts(all), ElementsAre("one", "two", "three", "own", "own"));
  EXPECT_EQ(all[1].line, MakeLine("1.1", 2, "two"));

  LogQuery next = query;
  next.after_id = all[1].id;
  next.limit = 2;
  EXPECT_THAT(Texts(*store_->ListLogs(next)), ElementsAre("three", "own"));
  LogQuery last = query;
  last.descending = true;
  last.limit = 3;
  EXPECT_THAT(Texts(*store_->ListLogs(last)), ElementsAre("own", "own", "three"));
}

TEST_P(StoreContractTest, LogLinesAreFiltered) {
  model::LogLine second = MakeLine("1.1", 2, "50% of it");
  second.rank = 1;
  second.level = model::LogLevel::kError;
  second.stdtype = "stderr";
  model::LogLine third = MakeLine("1.1", 3, "bad \xff byte");
  third.agent = "";
  third.rank.reset();
  third.source = "master";
  third.allocation = model::AllocationId("1.1.1");
  ASSERT_TRUE(store_->AddLogLines({MakeLine("1.1", 1, "one"), second, third}).ok());
  const auto list = [&](LogQuery query) {
    query.task = model::TaskId("1.1");
    return Texts(*store_->ListLogs(query));
  };
  const std::string bad = "bad \xEF\xBF\xBD byte";
  EXPECT_THAT(list({.allocations = {"1.1.1"}}), ElementsAre(bad));
  EXPECT_THAT(list({.agents = {"agent-0"}}), ElementsAre("one", "50% of it"));
  EXPECT_THAT(list({.ranks = {1, 5}}), ElementsAre("50% of it"));
  EXPECT_THAT(list({.levels = {model::LogLevel::kError}}), ElementsAre("50% of it"));
  EXPECT_THAT(list({.stdtypes = {"stdout"}}), ElementsAre("one", bad));
  EXPECT_THAT(list({.sources = {"master"}}), ElementsAre(bad));
  EXPECT_THAT(list({.before = TimeAt(2)}), ElementsAre("one"));
  EXPECT_THAT(list({.after = TimeAt(2)}), ElementsAre(bad));
  EXPECT_THAT(list({.contains = "% of"}), ElementsAre("50% of it"));
}

TEST_P(StoreContractTest, WritersMayComeTogether) {
  constexpr int kThreads = 8;
  constexpr int kBatches = 20;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const std::string task = absl::StrCat("1.", thread);
      for (int i = 1; i <= kBatches; ++i) {
        EXPECT_TRUE(store_->AddLogLines({MakeLine(task, i, absl::StrCat(i))}).ok());
        EXPECT_TRUE(store_->AddMetrics({MakeReport(thread + 1, "training", i, 0.5)}).ok());
        // Durable, hence readable, when the call returns.
        EXPECT_EQ(store_->ListLogs({.task = model::TaskId(task)})->size(), size_t(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int thread = 0; thread < kThreads; ++thread) {
    EXPECT_EQ(store_->ListMetrics({model::TrialId(thread + 1)}, "")->size(), size_t{kBatches});
  }
}

// ---- plain records ----

TEST_P(StoreContractTest, ContextsAreKeptByHash) {
  std::string bytes(256 * 1024, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  EXPECT_TRUE(absl::IsNotFound(store_->GetContext("h").status()));
  ASSERT_TRUE(store_->PutContext("h", bytes).ok());
  ASSERT_TRUE(store_->PutContext("h", bytes).ok());
  EXPECT_EQ(*store_->GetContext("h"), bytes);
}

TEST_P(StoreContractTest, UsersAreKeptByName) {
  const UserRecord admin = *store_->PutUser({.username = "admin", .admin = true});
  const UserRecord other = *store_->PutUser({.username = "other", .display_name = "O. Ther"});
  EXPECT_NE(admin.id, other.id);
  const UserRecord changed =
      *store_->PutUser({.username = "admin", .password_hash = "x", .active = false});
  EXPECT_EQ(changed.id, admin.id);
  const UserRecord back = *store_->GetUser(admin.id);
  EXPECT_EQ(back.password_hash, "x");
  EXPECT_FALSE(back.admin);
  EXPECT_FALSE(back.active);
  EXPECT_EQ(store_->GetUserByName("other")->display_name, "O. Ther");
  EXPECT_TRUE(absl::IsNotFound(store_->GetUserByName("nobody").status()));
  EXPECT_TRUE(absl::IsNotFound(store_->GetUser(model::UserId(99)).status()));
}

TEST_P(StoreContractTest, SessionsEnd) {
  const SessionRecord agent = {.token_hash = "a", .kind = SessionRecord::Kind::kAgent};
  const SessionRecord user = {
      .token_hash = "u", .user = model::UserId(3), .expires_at = TimeAt(10)};
  ASSERT_TRUE(store_->PutSession(agent).ok());
  ASSERT_TRUE(store_->PutSession(user).ok());
  EXPECT_EQ(store_->GetSession("a", TimeAt(1e9))->kind, SessionRecord::Kind::kAgent);
  EXPECT_EQ(store_->GetSession("u", TimeAt(9))->user, model::UserId(3));
  EXPECT_EQ(store_->GetSession("u", TimeAt(9))->expires_at, TimeAt(10));
  EXPECT_TRUE(absl::IsNotFound(store_->GetSession("u", TimeAt(10)).status()));
  ASSERT_TRUE(store_->DeleteSession("a").ok());
  ASSERT_TRUE(store_->DeleteSession("a").ok());
  EXPECT_TRUE(absl::IsNotFound(store_->GetSession("a", TimeAt(0)).status()));
}

TEST_P(StoreContractTest, APropertyIsSetOnce) {
  EXPECT_EQ(*store_->GetOrSetProperty("cluster_id", "first"), "first");
  EXPECT_EQ(*store_->GetOrSetProperty("cluster_id", "second"), "first");
  EXPECT_EQ(*backend_->Open()->GetOrSetProperty("cluster_id", "third"), "first");
}

}  // namespace
}  // namespace det::store
