// Detached: a part of the contract suite in store_contract.h.
#include <atomic>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "master/store/testing/make_rows.h"
#include "master/store/testing/store_contract.h"

namespace det::store {
namespace {

using model::ExperimentState;
using model::TrialState;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr model::TrialId kFirst(1);
constexpr model::TrialId kSecond(2);

experiment::Experiment MakeUnmanaged(int id, std::optional<std::string> external_id) {
  experiment::Experiment e = MakeExperiment(id);
  e.unmanaged = true;
  e.external_id = std::move(external_id);
  e.state = ExperimentState::kPaused;
  return e;
}

experiment::Trial MakePaused(int id, int experiment, std::optional<std::string> external_id) {
  experiment::Trial t = MakeTrial(id, experiment);
  t.state = TrialState::kPaused;
  t.external_id = std::move(external_id);
  return t;
}

// The unmanaged experiment 1 and its trials 1 and 2.
class DetachedRows {
 public:
  explicit DetachedRows(Store& store) : store_(store) {
    EXPECT_TRUE(detached().AddExperiment(MakeUnmanaged(1, "outside")).ok());
    EXPECT_EQ(*detached().PutTrial(MakePaused(1, 1, "one")), kFirst);
    EXPECT_EQ(*detached().PutTrial(MakePaused(2, 1, std::nullopt)), kSecond);
  }

  Detached& detached() { return store_.detached(); }
  experiment::Experiment GetExperiment() {
    return store_.GetExperiment(model::ExperimentId(1))->experiment;
  }
  TrialRecord GetTrial(model::TrialId id) { return *store_.GetTrial(id); }
  absl::Status Patch(model::TrialId id, std::optional<TrialState> state, double at) {
    return detached().PatchTrial(id, state, TimeAt(at)).status();
  }
  void Start(model::TrialId id, double at = 0) {
    ASSERT_TRUE(detached().StartTrial(id, true, TimeAt(at)).ok());
  }

 private:
  Store& store_;
};

TEST_P(StoreContractTest, StoresExperimentsAndTrials) {
  DetachedRows rows(*store_);
  EXPECT_EQ(rows.GetExperiment(), MakeUnmanaged(1, "outside"));
  EXPECT_EQ(rows.GetTrial(kFirst).trial, MakePaused(1, 1, "one"));
  EXPECT_EQ(*rows.detached().FindExperiment("outside"), model::ExperimentId(1));
  EXPECT_EQ(*rows.detached().FindExperiment("elsewhere"), std::nullopt);
  EXPECT_EQ(*rows.detached().FindTrial(model::ExperimentId(1), "one"), kFirst);
  EXPECT_EQ(*rows.detached().FindTrial(model::ExperimentId(1), "two"), std::nullopt);
  EXPECT_TRUE(*rows.detached().IsUnmanaged(kFirst));
  EXPECT_TRUE(absl::IsNotFound(rows.detached().IsUnmanaged(model::TrialId(9)).status()));
}

TEST_P(StoreContractTest, DoesNotLoadUnmanagedExperiments) {
  DetachedRows rows(*store_);
  rows.Start(kFirst);
  const cluster::Image image = Reload();
  EXPECT_THAT(image.experiments, IsEmpty());
  EXPECT_THAT(image.trials, IsEmpty());
  EXPECT_EQ(image.last_experiment, 1);
  EXPECT_EQ(image.last_trial, 2);
}

TEST_P(StoreContractTest, RejectsExperiment_WhenExternalIdIsTaken) {
  DetachedRows rows(*store_);
  EXPECT_TRUE(absl::IsAborted(rows.detached().AddExperiment(MakeUnmanaged(2, "outside"))));
  EXPECT_TRUE(absl::IsNotFound(store_->GetExperiment(model::ExperimentId(2)).status()));
  EXPECT_TRUE(rows.detached().AddExperiment(MakeUnmanaged(2, std::nullopt)).ok());
  EXPECT_TRUE(rows.detached().AddExperiment(MakeUnmanaged(3, std::nullopt)).ok());
}

TEST_P(StoreContractTest, ReplacesOnlyConfig) {
  DetachedRows rows(*store_);
  rows.Start(kFirst);
  experiment::Experiment other = MakeUnmanaged(1, "outside");
  other.config = MakeConfig("renamed");
  other.owner = model::UserId(7);
  ASSERT_TRUE(rows.detached().ReplaceConfig(other).ok());
  const experiment::Experiment stored = rows.GetExperiment();
  EXPECT_EQ(stored.config->name, "renamed");
  EXPECT_EQ(stored.owner, model::UserId(1));
  EXPECT_EQ(stored.state, ExperimentState::kActive);
}

TEST_P(StoreContractTest, ReplacesOnlyHparams_WhenTrialExists) {
  DetachedRows rows(*store_);
  rows.Start(kFirst);
  experiment::Trial again = MakePaused(3, 1, "one");
  again.hparams = {{"lr", 2.0}};
  EXPECT_EQ(*rows.detached().PutTrial(again), kFirst);
  EXPECT_EQ(rows.GetTrial(kFirst).trial.hparams, again.hparams);
  EXPECT_EQ(rows.GetTrial(kFirst).trial.state, TrialState::kRunning);
  EXPECT_TRUE(absl::IsNotFound(store_->GetTrial(model::TrialId(3)).status()));
}

TEST_P(StoreContractTest, RejectsManagedTrials) {
  DetachedRows rows(*store_);
  Commit({cluster::PutExperiment{MakeExperiment(5)}, cluster::PutTrial{MakeTrial(5, 5)}});
  const model::TrialId managed(5);
  EXPECT_FALSE(*rows.detached().IsUnmanaged(managed));
  EXPECT_TRUE(absl::IsFailedPrecondition(rows.Patch(managed, TrialState::kRunning, 0)));
  EXPECT_TRUE(absl::IsFailedPrecondition(rows.Patch(managed, std::nullopt, 0)));
  EXPECT_TRUE(
      absl::IsFailedPrecondition(rows.detached().StartTrial(managed, true, TimeAt(0)).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(rows.detached().SetProgress(managed, 0.5).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(rows.detached().PutTrial(MakePaused(6, 5, "x")).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(rows.detached().ReplaceConfig(MakeExperiment(5))));
  EXPECT_EQ(store_->GetTrial(managed)->trial, MakeTrial(5, 5));
  EXPECT_TRUE(absl::IsNotFound(rows.Patch(model::TrialId(9), TrialState::kRunning, 0)));
  EXPECT_TRUE(absl::IsNotFound(rows.Patch(model::TrialId(9), std::nullopt, 0)));
}

TEST_P(StoreContractTest, CountsAttemptsAndReturnsNewestCheckpoint) {
  DetachedRows rows(*store_);
  StartedTrial started = *rows.detached().StartTrial(kFirst, false, TimeAt(0));
  EXPECT_EQ(started.experiment, model::ExperimentId(1));
  EXPECT_EQ(started.run_id, 1);
  EXPECT_EQ(started.latest_checkpoint, std::nullopt);
  model::CheckpointRecord newest = MakeCheckpoint("b", 1, 20);
  newest.allocation = model::AllocationId();
  newest.storage = *rows.detached().PutCheckpointStorage(model::Value::Object{{"type", "s3"}});
  ASSERT_TRUE(rows.detached().AddCheckpoint(newest).ok());
  ASSERT_TRUE(rows.detached().AddCheckpoint(MakeCheckpoint("a", 1, 10)).ok());
  EXPECT_EQ(store_->GetCheckpoint(newest.id)->checkpoint, newest);
  EXPECT_EQ(rows.GetTrial(kFirst).trial.steps_completed, 20);

  EXPECT_TRUE(
      absl::IsFailedPrecondition(rows.detached().StartTrial(kFirst, false, TimeAt(1)).status()));
  started = *rows.detached().StartTrial(kFirst, true, TimeAt(1));
  EXPECT_EQ(started.run_id, 2);
  EXPECT_EQ(started.latest_checkpoint, newest.id);
  EXPECT_EQ(started.steps_completed, 20);
}

TEST_P(StoreContractTest, RejectsCheckpointOfAnotherTrial) {
  DetachedRows rows(*store_);
  ASSERT_TRUE(rows.detached().AddCheckpoint(MakeCheckpoint("a", 1, 10)).ok());
  ASSERT_TRUE(rows.detached().AddCheckpoint(MakeCheckpoint("a", 1, 10)).ok())
      << "a repeated report";
  EXPECT_TRUE(
      absl::IsAlreadyExists(rows.detached().AddCheckpoint(MakeCheckpoint("a", 2, 10)).status()));
  EXPECT_EQ(rows.GetTrial(kSecond).trial.latest_checkpoint, std::nullopt);
  EXPECT_TRUE(
      absl::IsAlreadyExists(rows.detached().AddCheckpoint(MakeCheckpoint("a", 1, 11)).status()));
  EXPECT_EQ(store_->GetCheckpoint(model::CheckpointId("a"))->checkpoint.steps_completed, 10);
}

TEST_P(StoreContractTest, DerivesStateOfExperiment) {
  DetachedRows rows(*store_);
  rows.Start(kFirst);
  EXPECT_EQ(rows.GetExperiment().state, ExperimentState::kActive);
  ASSERT_TRUE(rows.Patch(kFirst, TrialState::kError, 10).ok());
  EXPECT_EQ(rows.GetTrial(kFirst).trial.ended_at, TimeAt(10));
  EXPECT_EQ(rows.GetExperiment().state, ExperimentState::kError);
  EXPECT_EQ(rows.GetExperiment().ended_at, TimeAt(10));
  rows.Start(kSecond);
  EXPECT_EQ(rows.GetExperiment().state, ExperimentState::kActive);
  EXPECT_EQ(rows.GetExperiment().ended_at, std::nullopt);
  ASSERT_TRUE(rows.Patch(kSecond, TrialState::kCompleted, 20).ok());
  EXPECT_EQ(rows.GetExperiment().state, ExperimentState::kCompleted);
  EXPECT_EQ(rows.GetExperiment().ended_at, TimeAt(20));
  EXPECT_EQ(rows.GetExperiment().progress, 1);
  EXPECT_TRUE(absl::IsInvalidArgument(rows.Patch(kSecond, TrialState::kQueued, 30)));
}

TEST_P(StoreContractTest, StoresReportsOnce) {
  DetachedRows rows(*store_);
  rows.Start(kFirst);
  const std::vector<model::MetricReport> reports = {MakeReport(1, "training", 10, 0.1),
                                                    MakeReport(1, "validation", 10, 0.4)};
  StoredReport stored = *rows.detached().AddMetrics(kFirst, 1, reports);
  EXPECT_EQ(stored.experiment, model::ExperimentId(1));
  EXPECT_TRUE(stored.unmanaged);
  EXPECT_TRUE(stored.best);
  EXPECT_EQ(stored.run_id, 1);
  ASSERT_TRUE(rows.detached().AddMetrics(kFirst, 0, reports).ok()) << "a repeated report";
  EXPECT_EQ(rows.GetTrial(kFirst).trial.best_metric, 0.4);
  EXPECT_EQ(rows.GetExperiment().best_trial, kFirst);
  EXPECT_THAT(*store_->ListMetrics({kFirst}, ""), SizeIs(2));
  EXPECT_TRUE(absl::IsInvalidArgument(rows.detached().AddMetrics(kFirst, 2, reports).status()));
  EXPECT_TRUE(absl::IsNotFound(rows.detached().AddMetrics(model::TrialId(9), 0, reports).status()));
}

TEST_P(StoreContractTest, AddsNewMetricsToReport) {
  DetachedRows rows(*store_);
  rows.Start(kFirst);
  ASSERT_TRUE(rows.detached().AddMetrics(kFirst, 1, {MakeReport(1, "validation", 10, 0.1)}).ok());
  model::MetricReport more = MakeReport(1, "validation", 10, 0.1);
  more.metrics = model::Value::Object{{"accuracy", 0.1}, {"loss", 2.5}};
  ASSERT_TRUE(rows.detached().AddMetrics(kFirst, 1, {more}).ok());
  EXPECT_EQ(store_->ListMetrics({kFirst}, "validation")->front().metrics, more.metrics);

  model::MetricReport changed = more;
  changed.metrics = model::Value::Object{{"loss", 3.5}, {"extra", 1.5}};
  const absl::Status refused = rows.detached().AddMetrics(kFirst, 1, {changed}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("2.5"));
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("3.5"));
  EXPECT_EQ(store_->ListMetrics({kFirst}, "validation")->front().metrics, more.metrics);
}

TEST_P(StoreContractTest, RejectsTextAsSearcherMetric) {
  DetachedRows rows(*store_);
  rows.Start(kFirst);
  model::MetricReport report = MakeReport(1, "validation", 10, 0.5);
  report.metrics = model::Value::Object{{"accuracy", "low"}};
  EXPECT_TRUE(absl::IsInvalidArgument(rows.detached().AddMetrics(kFirst, 1, {report}).status()));
  EXPECT_THAT(*store_->ListMetrics({kFirst}, ""), IsEmpty());
  report.metrics = model::Value::Object{{"accuracy", "NaN"}, {"note", "low"}};
  EXPECT_TRUE(rows.detached().AddMetrics(kFirst, 1, {report}).ok());
}

TEST_P(StoreContractTest, SummarizesMetricsThatAreAddedToReport) {
  DetachedRows rows(*store_);
  rows.Start(kFirst);
  ASSERT_TRUE(rows.detached().AddMetrics(kFirst, 1, {MakeReport(1, "training", 10, 0.5)}).ok());
  model::MetricReport more = MakeReport(1, "training", 10, 0.5);
  (*more.metrics.MutableObject())["loss"] = 2.5;
  ASSERT_TRUE(rows.detached().AddMetrics(kFirst, 1, {more}).ok());
  ASSERT_TRUE(rows.detached().AddMetrics(kFirst, 1, {more}).ok()) << "a repeated report";
  const RunPage page = *store_->runs().SearchRuns({.search = *ParseSearch(Table::kRuns, "", "")});
  ASSERT_THAT(page.runs, SizeIs(2));
  const RunRecord& run = page.runs[page.runs[0].trial.id == kFirst ? 0 : 1];
  EXPECT_EQ(run.metrics.at({"training", "accuracy"}).count, 1);
  EXPECT_EQ(run.metrics.at({"training", "loss"}).count, 1);
  EXPECT_EQ(run.metrics.at({"training", "loss"}).last, 2.5);
  EXPECT_TRUE(run.unmanaged);
  EXPECT_EQ(run.external_experiment_id, "outside");
  EXPECT_EQ(run.trial.external_id, "one");
}

TEST_P(StoreContractTest, StoresReportsOfManagedTrials) {
  DetachedRows rows(*store_);
  Commit({cluster::PutExperiment{MakeExperiment(5)}, cluster::PutTrial{MakeTrial(5, 5)}});
  const StoredReport stored =
      *rows.detached().AddMetrics(model::TrialId(5), 0, {MakeReport(5, "validation", 10, 0.1)});
  EXPECT_FALSE(stored.unmanaged);
  EXPECT_THAT(*store_->ListMetrics({model::TrialId(5)}, "validation"), SizeIs(1));
  EXPECT_EQ(store_->GetTrial(model::TrialId(5))->trial.best_metric, std::nullopt)
      << "only the cluster changes the rows of managed trials";
}

TEST_P(StoreContractTest, IgnoresNaNForBestMetric) {
  DetachedRows rows(*store_);
  rows.Start(kFirst);
  ASSERT_TRUE(
      rows.detached()
          .AddMetrics(kFirst, 1,
                      {MakeReport(1, "validation", 10, std::numeric_limits<double>::quiet_NaN()),
                       MakeReport(1, "validation", 20, 0.2)})
          .ok());
  EXPECT_EQ(rows.GetTrial(kFirst).trial.best_metric, 0.2);
  EXPECT_EQ(rows.GetTrial(kFirst).trial.best_steps, 20);
}

TEST_P(StoreContractTest, RefusesTextAsSearcherMetric) {
  DetachedRows rows(*store_);
  rows.Start(kFirst);
  model::MetricReport report = MakeReport(1, "validation", 10, 0.1);
  const auto add = [&](const char* text) {
    (*report.metrics.MutableObject())["accuracy"] = text;
    return rows.detached().AddMetrics(kFirst, 1, {report}).status();
  };
  const absl::Status refused = add("low");
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("accuracy, which searcher.metric names, must be a number"));
  EXPECT_THAT(*store_->ListMetrics({kFirst}, "validation"), testing::IsEmpty());
  EXPECT_EQ(add("NaN"), absl::OkStatus());
}

TEST_P(StoreContractTest, StoresWhatTrialsReport) {
  DetachedRows rows(*store_);
  EXPECT_EQ(*rows.detached().SetProgress(kFirst, 0.25), model::ExperimentId(1));
  EXPECT_EQ(*rows.detached().SetRunnerState(kFirst, "training"), model::ExperimentId(1));
  EXPECT_EQ(*rows.detached().SetReason(kFirst, "invalid"), model::ExperimentId(1));
  const experiment::Trial trial = rows.GetTrial(kFirst).trial;
  EXPECT_EQ(trial.progress, 0.25);
  EXPECT_EQ(trial.runner_state, "training");
  EXPECT_EQ(trial.reason, "invalid");
  EXPECT_EQ(rows.GetExperiment().progress, 0.25);
}

TEST_P(StoreContractTest, ReturnsSameIdForSameStorage) {
  DetachedRows rows(*store_);
  const model::Value s3 = model::Value::Object{{"type", "s3"}, {"bucket", "b"}};
  const model::Value folder = model::Value::Object{{"type", "directory"}};
  const int32_t id = *rows.detached().PutCheckpointStorage(s3);
  EXPECT_NE(*rows.detached().PutCheckpointStorage(folder), id);
  EXPECT_EQ(*rows.detached().PutCheckpointStorage(s3), id);
  EXPECT_EQ(*rows.detached().GetCheckpointStorage(id), s3);
  EXPECT_TRUE(absl::IsNotFound(rows.detached().GetCheckpointStorage(99).status()));
}

TEST_P(StoreContractTest, FindsTrialsThatUseCheckpoint) {
  DetachedRows rows(*store_);
  const model::CheckpointId used("used");
  TrialSource source{.trial = kSecond, .checkpoint = used, .type = "INFERENCE"};
  ASSERT_TRUE(rows.detached().PutTrialSource(source).ok());
  source.model = 3;
  ASSERT_TRUE(rows.detached().PutTrialSource(source).ok());
  ASSERT_TRUE(rows.detached()
                  .PutTrialSource({.trial = kFirst, .checkpoint = used, .type = "FINE_TUNING"})
                  .ok());
  EXPECT_THAT(*rows.detached().ListTrialsBySource(used, ""), ElementsAre(kFirst, kSecond));
  EXPECT_THAT(*rows.detached().ListTrialsBySource(used, "INFERENCE"), ElementsAre(kSecond));
  EXPECT_THAT(*rows.detached().ListTrialsBySource(model::CheckpointId("other"), ""), IsEmpty());
  source.trial = model::TrialId(9);
  EXPECT_TRUE(absl::IsNotFound(rows.detached().PutTrialSource(source)));
}

TEST_P(StoreContractTest, EndsLostTrials) {
  DetachedRows rows(*store_);
  rows.Start(kFirst, 10);
  rows.Start(kSecond, 10);
  ASSERT_TRUE(rows.Patch(kSecond, std::nullopt, 50).ok());
  EXPECT_THAT(*rows.detached().EndLostTrials(TimeAt(10), TimeAt(60), 10), IsEmpty());
  EXPECT_THAT(*rows.detached().EndLostTrials(TimeAt(40), TimeAt(60), 10),
              ElementsAre(model::ExperimentId(1)));
  EXPECT_EQ(rows.GetTrial(kFirst).trial.state, TrialState::kError);
  EXPECT_EQ(rows.GetTrial(kFirst).trial.ended_at, TimeAt(10));
  EXPECT_EQ(rows.GetTrial(kSecond).trial.state, TrialState::kRunning);
  EXPECT_THAT(*rows.detached().EndLostTrials(TimeAt(40), TimeAt(60), 10), IsEmpty());

  ASSERT_TRUE(
      rows.detached().RecordActivity({{kSecond, TimeAt(80)}, {model::TrialId(9), TimeAt(1)}}).ok());
  EXPECT_THAT(*rows.detached().EndLostTrials(TimeAt(70), TimeAt(90), 10), IsEmpty());
  ASSERT_TRUE(rows.Patch(kFirst, std::nullopt, 90).ok()) << "it was only disconnected";
  EXPECT_EQ(rows.GetTrial(kFirst).trial.state, TrialState::kRunning);
  EXPECT_EQ(rows.GetTrial(kFirst).trial.ended_at, std::nullopt);
}

TEST_P(StoreContractTest, RejectsReports_WhenExperimentIsBeingDeleted) {
  DetachedRows rows(*store_);
  rows.Start(kFirst);
  Commit({cluster::MarkDeleting{model::ExperimentId(1)}});
  EXPECT_TRUE(absl::IsFailedPrecondition(rows.Patch(kFirst, std::nullopt, 10)));
  EXPECT_TRUE(absl::IsFailedPrecondition(rows.Patch(kFirst, TrialState::kRunning, 10)));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      rows.detached().AddMetrics(kFirst, 0, {MakeReport(1, "training", 10, 0.1)}).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      rows.detached().AddCheckpoint(MakeCheckpoint("a", 1, 10)).status()));
  ASSERT_TRUE(*store_->garbage_collection().RemoveRows(model::ExperimentId(1), 100));
  EXPECT_EQ(*rows.detached().FindExperiment("outside"), std::nullopt) << "the ID is free again";
}

TEST_P(StoreContractTest, FindsFilesOfDetachedCheckpoints) {
  DetachedRows rows(*store_);
  model::CheckpointRecord folder = MakeCheckpoint("a", 1, 10);
  folder.allocation = model::AllocationId();
  model::CheckpointRecord bucket = folder;
  bucket.id = model::CheckpointId("b");
  bucket.storage = *rows.detached().PutCheckpointStorage(
      model::Value::Object{{"type", "s3"}, {"bucket", "ours"}});
  ASSERT_TRUE(rows.detached().AddCheckpoint(folder).ok());
  ASSERT_TRUE(rows.detached().AddCheckpoint(bucket).ok());
  // A checkpoint from which a trial may continue is held.
  ASSERT_TRUE(rows.Patch(kFirst, TrialState::kCompleted, 10).ok());
  Commit({cluster::MarkDeleting{model::ExperimentId(1)}});
  const auto found = store_->garbage_collection().ListCheckpointsToDelete(model::CheckpointId(), 9);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_THAT(*found, SizeIs(2));
  EXPECT_TRUE((*found)[0].outside) << "a folder of the machine where the program ran";
  EXPECT_FALSE((*found)[1].outside);
  EXPECT_EQ((*found)[1].storage.type, "s3");
  EXPECT_EQ((*found)[1].storage.bucket, "ours");
}

TEST_P(StoreContractTest, RaisesWebhooksOfChangedStates) {
  DetachedRows rows(*store_);
  WebhookRecord webhook;
  webhook.name = "ended";
  webhook.url = "https://example.com";
  webhook.triggers = {{.type = model::WebhookTrigger::kExperimentStateChange,
                       .condition = model::Value::Object{{"state", "COMPLETED"}}}};
  const int32_t id = store_->webhooks().AddWebhook(webhook)->id;
  rows.Start(kFirst);
  EXPECT_THAT(*store_->webhooks().ListDeliveries(id, 10), IsEmpty());
  ASSERT_TRUE(rows.Patch(kFirst, TrialState::kCompleted, 10).ok());
  ASSERT_TRUE(rows.Patch(kFirst, TrialState::kCompleted, 11).ok());
  EXPECT_THAT(*store_->webhooks().ListDeliveries(id, 10), SizeIs(1));
}

TEST_P(StoreContractTest, StoresConcurrentReportsOnce) {
  DetachedRows rows(*store_);
  rows.Start(kFirst);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&rows, i] {
      for (int step = 0; step < 10; ++step) {
        model::MetricReport report = MakeReport(1, "validation", step, 0.5);
        report.metrics =
            model::Value::Object{{"accuracy", 0.5}, {"rank" + std::to_string(i % 4), 1.5}};
        EXPECT_TRUE(rows.detached().AddMetrics(kFirst, 1, {report}).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<model::MetricReport> all = *store_->ListMetrics({kFirst}, "validation");
  ASSERT_THAT(all, SizeIs(10));
  for (const model::MetricReport& report : all) EXPECT_THAT(*report.metrics.AsObject(), SizeIs(5));
}

TEST_P(StoreContractTest, AcceptsOneOfConcurrentValues) {
  DetachedRows rows(*store_);
  rows.Start(kFirst);
  rows.Start(kSecond);
  std::atomic<int> accepted = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&rows, &accepted, i] {
      const absl::Status status =
          rows.detached().AddMetrics(kFirst, 1, {MakeReport(1, "training", 10, i)}).status();
      if (status.ok()) ++accepted;
      EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
      EXPECT_TRUE(rows.detached().AddMetrics(kSecond, 1, {MakeReport(2, "training", i, i)}).ok());
      EXPECT_TRUE(
          absl::IsNotFound(rows.detached()
                               .AddMetrics(model::TrialId(9), 0, {MakeReport(9, "training", i, i)})
                               .status()));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(accepted, 1);
  EXPECT_THAT(*store_->ListMetrics({kFirst}, "training"), SizeIs(1));
  EXPECT_THAT(*store_->ListMetrics({kSecond}, "training"), SizeIs(8));
}

}  // namespace
}  // namespace det::store
