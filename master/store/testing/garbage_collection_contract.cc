// Deletion of ended experiments and of checkpoints: a part of the contract suite in
// store_contract.h.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "master/store/testing/make_rows.h"
#include "master/store/testing/store_contract.h"
#include <gmock/gmock.h>

namespace det::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using model::CheckpointId;
using model::CheckpointState;
using model::ExperimentId;
using model::ExperimentState;

cluster::PutExperiment Ended(int id) {
  experiment::Experiment e = MakeExperiment(id);
  e.state = ExperimentState::kCompleted;
  e.ended_at = TimeAt(100);
  return {e};
}

std::string States(Store& store, int experiment) {
  std::string text;
  const auto page = store.ListCheckpoints({.experiment = ExperimentId(experiment)});
  for (const CheckpointEntry& entry : page->checkpoints) {
    text += entry.checkpoint.id.value() + "=" + std::string(ToString(entry.checkpoint.state)) + " ";
  }
  return text;
}

// Experiment 1 with trial 1 and checkpoints a, b; experiment 2, which is running, starts from a.
std::vector<cluster::Change> Family() {
  experiment::Experiment child = MakeExperiment(2);
  child.warm_start = CheckpointId("a");
  experiment::Trial parent = MakeTrial(1, 1);
  parent.latest_checkpoint = CheckpointId("b");
  parent.steps_completed = 20;
  std::vector<cluster::Change> changes;
  changes.emplace_back(Ended(1));
  changes.emplace_back(cluster::PutTrial{parent});
  changes.emplace_back(cluster::AddCheckpoint{MakeCheckpoint("a", 1, 10)});
  changes.emplace_back(cluster::AddCheckpoint{MakeCheckpoint("b", 1, 20)});
  changes.emplace_back(cluster::PutExperiment{child});
  changes.emplace_back(cluster::PutTrial{MakeTrial(2, 2)});
  changes.emplace_back(cluster::AddMetrics{MakeReport(1, "training", 1, 0.5)});
  changes.emplace_back(cluster::AddMetrics{MakeReport(2, "training", 1, 0.5)});
  changes.emplace_back(cluster::AddLogLine{MakeLine("1.1", 0, "of one")});
  changes.emplace_back(cluster::AddLogLine{MakeLine("1.1", 0, "of one, too")});
  changes.emplace_back(cluster::AddLogLine{MakeLine("2.2", 0, "of another")});
  changes.emplace_back(cluster::PutSearcher{ExperimentId(1), 1, model::Value::Object{}});
  changes.emplace_back(cluster::PutSearcher{ExperimentId(2), 1, model::Value::Object{}});
  return changes;
}

TEST_P(StoreContractTest, ListsArchived_WhenRequested) {
  Commit({Ended(1), Ended(2), cluster::SetArchived{ExperimentId(2), true}});
  const auto ids = [&](std::optional<bool> archived) {
    std::vector<int> ids;
    const auto page = store_->ListExperiments({.archived = archived});
    for (const ExperimentRecord& record : page->experiments) {
      ids.push_back(record.experiment.id.value());
      EXPECT_EQ(record.archived, ids.back() == 2);
    }
    return ids;
  };
  EXPECT_THAT(ids({}), ElementsAre(1, 2));
  EXPECT_THAT(ids(false), ElementsAre(1));
  EXPECT_THAT(ids(true), ElementsAre(2));
  Commit({cluster::SetArchived{ExperimentId(2), false}});
  EXPECT_THAT(ids(true), IsEmpty());
}

TEST_P(StoreContractTest, RemovesLogsAfterRetention) {
  GarbageCollection& gc = store_->garbage_collection();
  std::vector<cluster::Change> changes = Family();
  experiment::Trial ended = MakeTrial(1, 1);
  ended.state = model::TrialState::kCompleted;
  ended.ended_at = TimeAt(0);
  changes.emplace_back(cluster::PutTrial{ended});
  Commit(std::move(changes));
  const auto day = [](int n) { return TimeAt(1) + n * absl::Hours(24); };
  const auto left = [&] {
    return store_->ListLogs({.task = ended.task})->size() +
           store_->ListLogs({.task = MakeTrial(2, 2).task})->size();
  };
  const auto log_days = [&] { return *gc.GetTrialLogDays(model::TrialId(1)); };
  // No retention is set.
  EXPECT_EQ(log_days(), std::nullopt);
  EXPECT_EQ(*gc.RemoveExpiredLogs(day(1'000), -1, 10), 0);
  EXPECT_EQ(*gc.RemoveExpiredLogs(day(3), 4, 10), 0);
  // The setting of the experiment, then that of a trial, takes precedence over the default.
  ASSERT_TRUE(gc.SetExperimentLogDays(ExperimentId(1), -1).ok());
  EXPECT_EQ(*gc.RemoveExpiredLogs(day(100), 4, 10), 0);
  ASSERT_TRUE(gc.SetTrialLogDays(model::TrialId(1), 7).ok());
  EXPECT_EQ(log_days(), 7);
  EXPECT_EQ(*gc.RemoveExpiredLogs(day(6), 4, 10), 0);
  // The most recent setting applies.
  ASSERT_TRUE(gc.SetExperimentLogDays(ExperimentId(1), 8).ok());
  EXPECT_EQ(log_days(), 8);
  EXPECT_EQ(store_->GetExperiment(ExperimentId(1))->log_days, 8);
  EXPECT_EQ(store_->GetExperiment(ExperimentId(2))->log_days, std::nullopt);
  EXPECT_EQ(*gc.RemoveExpiredLogs(day(7), 4, 10), 0);
  EXPECT_EQ(left(), 3u);
  // One line at a time, and none of the running trial.
  EXPECT_EQ(*gc.RemoveExpiredLogs(day(8), 4, 1), 1);
  EXPECT_EQ(left(), 2u);
  EXPECT_EQ(*gc.RemoveExpiredLogs(day(8), 4, 10), 1);
  EXPECT_EQ(left(), 1u);
  EXPECT_TRUE(absl::IsNotFound(gc.SetExperimentLogDays(ExperimentId(9), 1)));
  EXPECT_TRUE(absl::IsNotFound(gc.SetTrialLogDays(model::TrialId(9), 1)));
  EXPECT_TRUE(absl::IsNotFound(gc.GetTrialLogDays(model::TrialId(9)).status()));
}

TEST_P(StoreContractTest, KeepsLogsAsConfigured) {
  GarbageCollection& gc = store_->garbage_collection();
  cluster::PutExperiment put = Ended(1);
  model::ExperimentConfig config = *put.experiment.config;
  config.log_retention_days = 2;
  put.experiment.config = std::make_shared<const model::ExperimentConfig>(config);
  experiment::Trial trial = MakeTrial(1, 1);
  trial.ended_at = TimeAt(0);
  Commit({put, cluster::PutTrial{trial}, cluster::AddLogLine{MakeLine("1.1", 0, "a line")}});
  EXPECT_EQ(*gc.GetTrialLogDays(trial.id), 2);
  const auto left = [&] { return store_->ListLogs({.task = trial.task})->size(); };
  EXPECT_EQ(*gc.RemoveExpiredLogs(TimeAt(1) + absl::Hours(24), 0, 10), 0);
  EXPECT_EQ(left(), 1u);
  EXPECT_EQ(*gc.RemoveExpiredLogs(TimeAt(1) + absl::Hours(48), -1, 10), 1);
  EXPECT_EQ(left(), 0u);
}

TEST_P(StoreContractTest, RemovesOldAuditRecords) {
  const auto at = [](int second) {
    AuditRecord record;
    record.at = TimeAt(second);
    record.method = "X.Y";
    return record;
  };
  ASSERT_TRUE(store_->audit().AddAudit({at(1), at(2), at(3)}).ok());
  GarbageCollection& gc = store_->garbage_collection();
  EXPECT_FALSE(*gc.RemoveExpiredAudit(TimeAt(3), 1));
  EXPECT_TRUE(*gc.RemoveExpiredAudit(TimeAt(3), 2));
  const auto left = store_->audit().ListAudit({});
  ASSERT_EQ(left->size(), 1u);
  EXPECT_EQ(left->front().at, TimeAt(3));
}

TEST_P(StoreContractTest, MakesRetentionDueAtEndAndOnPolicyChange) {
  Commit({cluster::PutExperiment{MakeExperiment(1)}, Ended(2), Ended(3)});
  GarbageCollection& gc = store_->garbage_collection();
  EXPECT_THAT(*gc.ListDueRetentions(ExperimentId(0), 10),
              ElementsAre(ExperimentId(2), ExperimentId(3)));
  EXPECT_THAT(*gc.ListDueRetentions(ExperimentId(2), 10), ElementsAre(ExperimentId(3)));
  EXPECT_THAT(*gc.ListDueRetentions(ExperimentId(0), 1), ElementsAre(ExperimentId(2)));
  const experiment::RetentionPolicy usual = {0, 1, 1};
  Commit({cluster::ApplyRetention{ExperimentId(2), usual, {}},
          cluster::ApplyRetention{ExperimentId(3), usual, {}}, Ended(1)});
  EXPECT_THAT(*gc.ListDueRetentions(ExperimentId(0), 10), ElementsAre(ExperimentId(1)));
  Commit({cluster::PutRetention{ExperimentId(3), {4, 5, 6}}});
  EXPECT_THAT(*gc.ListDueRetentions(ExperimentId(1), 10), ElementsAre(ExperimentId(3)));
  // Decisions under the previous policy change nothing.
  Commit({cluster::PutTrial{MakeTrial(1, 3)}, cluster::AddCheckpoint{MakeCheckpoint("a", 1, 10)},
          cluster::ApplyRetention{ExperimentId(3), usual, {CheckpointId("a")}}});
  EXPECT_EQ(States(*store_, 3), "a=COMPLETED ");
  EXPECT_THAT(*gc.ListDueRetentions(ExperimentId(1), 10), ElementsAre(ExperimentId(3)));
  Commit({cluster::ApplyRetention{ExperimentId(3), {4, 5, 6}, {CheckpointId("a")}}});
  EXPECT_EQ(States(*store_, 3), "a=DELETING ");
  EXPECT_THAT(*gc.ListDueRetentions(ExperimentId(1), 10), IsEmpty());
  const auto storage =
      store_->GetExperiment(ExperimentId(3))->experiment.config->checkpoint_storage;
  EXPECT_EQ(experiment::GetRetentionPolicy(storage), (experiment::RetentionPolicy{4, 5, 6}));
}

TEST_P(StoreContractTest, DeletesCheckpointsUnlessHeld) {
  Commit(Family());
  GarbageCollection& gc = store_->garbage_collection();
  EXPECT_THAT(*gc.ListHeldCheckpoints(ExperimentId(1)),
              ElementsAre(HeldCheckpoint{CheckpointId("a"), "experiment 2"}));
  Commit({cluster::DropCheckpoints{{CheckpointId("a"), CheckpointId("b"), CheckpointId("x")}}});
  EXPECT_EQ(States(*store_, 1), "a=COMPLETED b=DELETING ");
  const auto doomed = *gc.ListCheckpointsToDelete(CheckpointId(""), 10);
  ASSERT_EQ(doomed.size(), 1u);
  EXPECT_EQ(doomed[0].id, CheckpointId("b"));
  EXPECT_EQ(doomed[0].storage.host_path, "/tmp/checkpoints");
  EXPECT_THAT(*gc.ListCheckpointsToDelete(CheckpointId("b"), 10), IsEmpty());
  ASSERT_TRUE(gc.MarkCheckpointsDeleted({CheckpointId("a"), CheckpointId("b")}).ok());
  EXPECT_EQ(States(*store_, 1), "a=COMPLETED b=DELETED ");
  EXPECT_THAT(*gc.ListCheckpointsToDelete(CheckpointId(""), 10), IsEmpty());
  // A late report does not restore anything.
  Commit({cluster::AddCheckpoint{MakeCheckpoint("b", 1, 20)}});
  EXPECT_EQ(States(*store_, 1), "a=COMPLETED b=DELETED ");
  EXPECT_EQ(store_->GetExperiment(ExperimentId(1))->checkpoint_count, 1);
  EXPECT_EQ(store_->GetTrial(model::TrialId(1))->checkpoint_count, 1);
  const CheckpointQuery there = {.experiment = ExperimentId(1),
                                 .states = {CheckpointState::kCompleted}};
  EXPECT_EQ(store_->ListCheckpoints(there)->total, 1);
  // A trial that continues does so from the checkpoint that exists.
  const experiment::Trial trial = store_->LoadExperiment(ExperimentId(1))->trials.at(0);
  EXPECT_EQ(trial.latest_checkpoint, CheckpointId("a"));
  EXPECT_EQ(trial.steps_completed, 10);
  EXPECT_EQ(store_->GetTrial(model::TrialId(1))->trial.steps_completed, 20);
}

TEST_P(StoreContractTest, TrimsCheckpoints) {
  Commit(Family());
  GarbageCollection& gc = store_->garbage_collection();
  const auto trim = [](const char* id, model::Globs globs) {
    return cluster::TrimCheckpoint{CheckpointId(id), std::move(globs)};
  };
  Commit({trim("a", {"*"}), trim("b", {"state/*"}), trim("x", {"*"})});
  EXPECT_EQ(States(*store_, 1), "a=COMPLETED b=PARTIALLY_DELETED ") << "a is in use";
  // In one batch with a later trim; a repeated trim changes nothing.
  Commit({trim("b", {"opt*"}), trim("b", {"state/*"})});
  EXPECT_THAT(*gc.ListCheckpointsToDelete(CheckpointId(""), 10), IsEmpty());
  EXPECT_THAT(*gc.ListCheckpointsToTrim(CheckpointId("b"), 10), IsEmpty());
  const auto trimmed = *gc.ListCheckpointsToTrim(CheckpointId(""), 10);
  ASSERT_EQ(trimmed.size(), 1u);
  EXPECT_EQ(trimmed[0].id, CheckpointId("b"));
  EXPECT_EQ(trimmed[0].experiment, ExperimentId(1));
  EXPECT_EQ(trimmed[0].storage.host_path, "/tmp/checkpoints");
  EXPECT_EQ(trimmed[0].resources, MakeCheckpoint("b", 1, 20).resources);
  EXPECT_THAT(trimmed[0].globs, ElementsAre("opt*", "state/*"));
  // No trial starts from it from now on.
  const experiment::Trial trial = store_->LoadExperiment(ExperimentId(1))->trials.at(0);
  EXPECT_EQ(trial.latest_checkpoint, CheckpointId("a"));

  // A trim that is requested meanwhile is kept.
  Commit({trim("b", {"late"})});
  const model::Resources left = {{"model.pt", 1000}};
  ASSERT_TRUE(gc.MarkCheckpointTrimmed(trimmed[0], left).ok());
  const auto again = *gc.ListCheckpointsToTrim(CheckpointId(""), 10);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_THAT(again[0].globs, ElementsAre("late", "opt*", "state/*"));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(gc.MarkCheckpointTrimmed(again[0], left).ok());
    EXPECT_THAT(*gc.ListCheckpointsToTrim(CheckpointId(""), 10), IsEmpty());
    const CheckpointEntry entry = *store_->GetCheckpoint(CheckpointId("b"));
    EXPECT_EQ(entry.checkpoint.state, CheckpointState::kPartiallyDeleted);
    EXPECT_EQ(entry.checkpoint.resources, left);
    // A late report does not restore anything.
    Commit({cluster::AddCheckpoint{MakeCheckpoint("b", 1, 20)}});
  }
  EXPECT_EQ(store_->GetExperiment(ExperimentId(1))->checkpoint_count, 2);
  EXPECT_EQ(store_->GetExperiment(ExperimentId(1))->checkpoint_size, 1024 + 1000);

  // The remaining files are deleted together.
  Commit({trim("b", {"model*"}), cluster::MarkDeleting{ExperimentId(1)}});
  EXPECT_EQ(States(*store_, 1), "a=COMPLETED b=DELETING ");
  EXPECT_THAT(*gc.ListCheckpointsToTrim(CheckpointId(""), 10), IsEmpty());
  EXPECT_EQ(gc.ListCheckpointsToDelete(CheckpointId(""), 10)->size(), 1u);
  Commit({trim("b", {"model*"})});
  EXPECT_EQ(States(*store_, 1), "a=COMPLETED b=DELETING ");
}

TEST_P(StoreContractTest, DeletesCheckpointWithoutFiles) {
  Commit(Family());
  GarbageCollection& gc = store_->garbage_collection();
  Commit({cluster::TrimCheckpoint{CheckpointId("b"), {"model.pt", "state/*"}}});
  const auto trimmed = *gc.ListCheckpointsToTrim(CheckpointId(""), 10);
  ASSERT_EQ(trimmed.size(), 1u);
  ASSERT_TRUE(gc.MarkCheckpointTrimmed(trimmed[0], {{"state/", 0}}).ok());
  EXPECT_EQ(States(*store_, 1), "a=COMPLETED b=DELETED ");
  EXPECT_EQ(store_->GetExperiment(ExperimentId(1))->checkpoint_size, 1024);
}

TEST_P(StoreContractTest, DoesNotTrimDroppedCheckpoint) {
  Commit(Family());
  Commit({cluster::TrimCheckpoint{CheckpointId("b"), {"opt*"}},
          cluster::ApplyRetention{ExperimentId(1), {0, 1, 1}, {CheckpointId("b")}}});
  EXPECT_EQ(States(*store_, 1), "a=COMPLETED b=DELETING ");
  EXPECT_THAT(*store_->garbage_collection().ListCheckpointsToTrim(CheckpointId(""), 10), IsEmpty());
}

TEST_P(StoreContractTest, HoldsCheckpointsThatRunningTrialsStartFrom) {
  experiment::Trial trial = MakeTrial(1, 1);
  trial.latest_checkpoint = CheckpointId("b");
  Commit({cluster::PutExperiment{MakeExperiment(1)}, cluster::PutTrial{trial},
          cluster::AddCheckpoint{MakeCheckpoint("a", 1, 10)},
          cluster::AddCheckpoint{MakeCheckpoint("b", 1, 20)}});
  // In one batch with a later row of the trial.
  Commit({cluster::PutTrial{trial},
          cluster::DropCheckpoints{{CheckpointId("a"), CheckpointId("b")}},
          cluster::PutTrial{trial}});
  EXPECT_EQ(States(*store_, 1), "a=DELETING b=COMPLETED ");
}

TEST_P(StoreContractTest, DeletesAllOfExperimentAndNothingElse) {
  Commit(Family());
  GarbageCollection& gc = store_->garbage_collection();
  EXPECT_TRUE(*gc.RemoveRows(ExperimentId(1), 10)) << "it is not being deleted";
  EXPECT_THAT(*gc.ListDeletions(), IsEmpty());
  Commit({cluster::MarkDeleting{ExperimentId(1)}, cluster::MarkDeleting{ExperimentId(77)}});
  EXPECT_EQ(store_->GetExperiment(ExperimentId(1))->experiment.state, ExperimentState::kDeleting);
  EXPECT_EQ(States(*store_, 1), "a=COMPLETED b=DELETING ");
  EXPECT_THAT(*gc.ListDeletions(), ElementsAre(ExperimentId(1)));
  EXPECT_THAT(*gc.ListDueRetentions(ExperimentId(0), 10), IsEmpty());
  ASSERT_TRUE(gc.MarkCheckpointsDeleted({CheckpointId("b")}).ok());
  int steps = 1;
  while (!*gc.RemoveRows(ExperimentId(1), 1)) ++steps;
  EXPECT_EQ(steps, 4) << "two lines, one report, the rest";
  // a is in use: it stays, with the rows that are needed to find it, and its experiment is not
  // listed.
  EXPECT_EQ(States(*store_, 1), "a=COMPLETED ");
  EXPECT_EQ(store_->GetExperiment(ExperimentId(1))->experiment.state, ExperimentState::kDeleted);
  EXPECT_EQ(store_->ListExperiments({})->total, 1);
  EXPECT_EQ(store_->ListExperiments({.states = {ExperimentState::kDeleted}})->total, 1);
  EXPECT_THAT(*store_->ListLogs({.task = model::TaskId("1.1")}), IsEmpty());
  EXPECT_THAT(*store_->ListMetrics({model::TrialId(1)}, ""), IsEmpty());
  EXPECT_EQ(store_->ListLogs({.task = model::TaskId("2.2")})->size(), 1u);
  EXPECT_EQ(store_->ListMetrics({model::TrialId(2)}, "")->size(), 1u);
  EXPECT_THAT(*gc.ListReleased(), IsEmpty());

  // Once it is not in use anymore, the rest is removed.
  experiment::Experiment child = Ended(2).experiment;
  child.warm_start = CheckpointId("a");
  Commit({cluster::PutExperiment{child}, cluster::MarkDeleting{ExperimentId(2)}});
  EXPECT_THAT(*gc.ListReleased(), ElementsAre(ExperimentId(1)));
  Commit({cluster::MarkDeleting{ExperimentId(1)}});
  ASSERT_TRUE(gc.MarkCheckpointsDeleted({CheckpointId("a")}).ok());
  for (const int id : {1, 2}) {
    while (!*gc.RemoveRows(ExperimentId(id), 100)) {
    }
    EXPECT_TRUE(absl::IsNotFound(store_->GetExperiment(ExperimentId(id)).status()));
  }
  EXPECT_TRUE(absl::IsNotFound(store_->GetCheckpoint(CheckpointId("a")).status()));
  // IDs are not reused.
  const cluster::Image image = Reload();
  EXPECT_EQ(image.last_experiment, 2);
  EXPECT_EQ(image.last_trial, 2);
  EXPECT_THAT(image.experiments, IsEmpty());
}

TEST_P(StoreContractTest, RejectsLogLinesOfDeletedExperiment) {
  Commit(Family());
  Commit({cluster::MarkDeleting{ExperimentId(1)}});
  GarbageCollection& gc = store_->garbage_collection();
  ASSERT_TRUE(gc.MarkCheckpointsDeleted({CheckpointId("b")}).ok());
  const auto lines = [&](const char* task) {
    return store_->ListLogs({.task = model::TaskId(task)})->size();
  };
  // A line that arrives during the deletion is deleted, too, even at the last moment.
  while (lines("1.1") > 0) EXPECT_FALSE(*gc.RemoveRows(ExperimentId(1), 1));
  ASSERT_TRUE(store_->AddLogLines({MakeLine("1.1", 1, "late")}).ok());
  EXPECT_EQ(lines("1.1"), 1u);
  while (!*gc.RemoveRows(ExperimentId(1), 1)) {
  }
  // First a checkpoint of the experiment is in use, so its row exists; then the row is gone.
  for (int sequence = 2; sequence < 4; ++sequence) {
    ASSERT_TRUE(store_
                    ->AddLogLines({MakeLine("1.1", sequence, "later"),
                                   MakeLine("2.2", sequence, "of another"),
                                   MakeLine("3.3", sequence, "of one that is to come")})
                    .ok());
    Commit({cluster::AddLogLine{MakeLine("1.1", 0, "own")}});
    EXPECT_EQ(lines("1.1"), 0u);
    EXPECT_EQ(lines("2.2"), static_cast<size_t>(sequence));
    EXPECT_EQ(lines("3.3"), static_cast<size_t>(sequence - 1));
    if (sequence > 2) break;
    // An experiment that is being deleted itself does not protect checkpoints.
    experiment::Experiment child = Ended(2).experiment;
    child.warm_start = CheckpointId("a");
    Commit({cluster::PutExperiment{child}, cluster::MarkDeleting{ExperimentId(2)}});
    Commit({cluster::MarkDeleting{ExperimentId(1)}});
    ASSERT_TRUE(gc.MarkCheckpointsDeleted({CheckpointId("a")}).ok());
    while (!*gc.RemoveRows(ExperimentId(1), 100)) {
    }
    EXPECT_TRUE(absl::IsNotFound(store_->GetExperiment(ExperimentId(1)).status()));
  }
}

TEST_P(StoreContractTest, DoesNotResumeFromDamagedCheckpoint) {
  Commit(Family());
  Commit({cluster::MarkDamaged{CheckpointId("b"), model::TrialId(2), "not its trial"}});
  EXPECT_EQ(States(*store_, 1), "a=COMPLETED b=COMPLETED ");
  const std::string damage = "file 'x' is \"damaged\"";
  Commit({cluster::MarkDamaged{CheckpointId("b"), model::TrialId(1), damage},
          cluster::MarkDamaged{CheckpointId("none"), model::TrialId(1), damage}});
  EXPECT_EQ(States(*store_, 1), "a=COMPLETED b=ERROR ");
  // A repeated registration does not change that.
  Commit({cluster::AddCheckpoint{MakeCheckpoint("b", 1, 20)}});
  const model::CheckpointRecord b = store_->GetCheckpoint(CheckpointId("b"))->checkpoint;
  EXPECT_EQ(b.state, CheckpointState::kError);
  EXPECT_EQ(*b.metadata.Find("damage"), model::Value(damage));
  EXPECT_EQ(*b.metadata.Find("framework"), model::Value("libtorch"));
  EXPECT_EQ(store_->LoadExperiment(ExperimentId(1))->trials.at(0).latest_checkpoint,
            CheckpointId("a"));
  // A user may delete it.
  Commit({cluster::DropCheckpoints{{CheckpointId("b")}}});
  EXPECT_EQ(States(*store_, 1), "a=COMPLETED b=DELETING ");
  Commit({cluster::MarkDamaged{CheckpointId("b"), model::TrialId(1), damage}});
  EXPECT_EQ(States(*store_, 1), "a=COMPLETED b=DELETING ");
}

TEST_P(StoreContractTest, KeepsUsageOfDeletedExperiments) {
  experiment::Allocation a = MakeAllocation(MakeTrial(1, 1), 0);
  a.state = model::AllocationState::kTerminated;
  a.submitted = 9;
  a.granted = 2;
  a.started_at = TimeAt(0);
  a.ended_at = TimeAt(50);
  experiment::Experiment e = Ended(1).experiment;
  e.owner_name = "ann";
  Commit({cluster::PutExperiment{e}, cluster::PutTrial{MakeTrial(1, 1)}, cluster::PutAllocation{a},
          cluster::MarkDeleting{ExperimentId(1)}});
  const cluster::Usage before = Reload().usage;
  EXPECT_EQ(before.users.at("ann"), 100);
  ASSERT_TRUE(*store_->garbage_collection().RemoveRows(ExperimentId(1), 10));
  EXPECT_TRUE(absl::IsNotFound(store_->GetExperiment(ExperimentId(1)).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->GetAllocation(a.id).status()));
  const cluster::Image after = Reload();
  EXPECT_EQ(after.usage, before);
  EXPECT_EQ(after.last_submitted, 9);
}

TEST_P(StoreContractTest, RetriesFailedDeletionOnRequest) {
  Commit({Ended(1), cluster::MarkDeleting{ExperimentId(1)}});
  GarbageCollection& gc = store_->garbage_collection();
  ASSERT_TRUE(gc.MarkDeletionFailed(ExperimentId(1), "no permission").ok());
  const auto failed = store_->GetExperiment(ExperimentId(1))->experiment;
  EXPECT_EQ(failed.state, ExperimentState::kDeleteFailed);
  EXPECT_EQ(failed.reason, "no permission");
  EXPECT_TRUE(*gc.RemoveRows(ExperimentId(1), 10));
  EXPECT_TRUE(store_->GetExperiment(ExperimentId(1)).ok());
  EXPECT_THAT(Reload().experiments, IsEmpty());
  Commit({cluster::MarkDeleting{ExperimentId(1)}});
  EXPECT_TRUE(*store_->garbage_collection().RemoveRows(ExperimentId(1), 10));
  EXPECT_TRUE(absl::IsNotFound(store_->GetExperiment(ExperimentId(1)).status()));
}

}  // namespace
}  // namespace det::store
