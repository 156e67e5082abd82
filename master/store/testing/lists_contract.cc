// Lists of experiments, trials, allocations and checkpoints: a part of the contract suite in
// store_contract.h.
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "master/store/testing/make_rows.h"
#include "master/store/testing/store_contract.h"
#include <gmock/gmock.h>

namespace det::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

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

TEST_P(StoreContractTest, StoresTrialsOfOneCommit) {
  experiment::Trial plain = MakeTrial(1, 1);
  experiment::Trial full = MakeTrial(2, 1);
  full.state = model::TrialState::kStopping;
  full.end_as = model::TrialState::kCanceled;
  full.held = true;
  full.reason = "a, {b} \"c\" \\ 'd'\nNULL";
  full.allocation = model::AllocationId("1.2.0");
  full.latest_checkpoint = model::CheckpointId("NULL");
  full.waits_for = model::TrialId(1);
  full.warm_start = model::CheckpointId("w");
  full.progress = 0.1;
  full.blocked = {model::AgentId("a"), model::AgentId("b")};
  full.suspects = {model::AgentId("c")};
  full.run_time = absl::Seconds(90);
  full.best_metric = -1.5;
  full.ended_at = TimeAt(9);
  Commit({cluster::PutExperiment{MakeExperiment(1)}, cluster::PutTrial{plain},
          cluster::PutTrial{full}, cluster::PutTrial{MakeTrial(3, 1)}});
  EXPECT_EQ(store_->GetTrial(plain.id)->trial, plain);
  EXPECT_EQ(store_->GetTrial(full.id)->trial, full);
  plain.state = model::TrialState::kError;
  full.allocation.reset();
  Commit({cluster::PutTrial{full}, cluster::PutTrial{plain}});
  EXPECT_EQ(store_->GetBareTrial(plain.id)->trial, plain);
  EXPECT_EQ(store_->GetBareTrial(full.id)->trial, full);
}

TEST_P(StoreContractTest, ListsExperimentsByFilterSortAndWindow) {
  const UserRecord alice = *store_->users().AddUser({.username = "alice"});
  const UserRecord bob = *store_->users().AddUser({.username = "bob"});
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
  // Experiments without an end come last in both directions.
  EXPECT_THAT(list({.sort = Sort::kEndTime}), ElementsAre(5, 4, 1, 2, 3));
  EXPECT_THAT(list({.sort = Sort::kEndTime, .descending = true}), ElementsAre(4, 5, 3, 2, 1));
  EXPECT_THAT(list({.sort = Sort::kProgress, .descending = true}), ElementsAre(2, 5, 4, 3, 1));
  EXPECT_THAT(list({.sort = Sort::kUser}), ElementsAre(1, 3, 5, 2, 4));
  EXPECT_THAT(list({.name = "MNIST"}), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(list({.min_id = 2, .max_id = 4}), ElementsAre(2, 3, 4));
  EXPECT_THAT(list({.min_id = int64_t{1} << 31}), IsEmpty());
  EXPECT_THAT(list({.ids = {model::ExperimentId(1), model::ExperimentId(4)},
                    .not_ids = {model::ExperimentId(4), model::ExperimentId(5)}}),
              ElementsAre(1));
  EXPECT_THAT(list({.name = "%"}), IsEmpty());
  EXPECT_THAT(list({.states = {model::ExperimentState::kCompleted}}), ElementsAre(4, 5));
  EXPECT_THAT(list({.usernames = {"bob"}}), ElementsAre(2, 4));
  EXPECT_THAT(list({.request_id = "request-3"}), ElementsAre(3));
  EXPECT_THAT(list({.request_id = "request"}), IsEmpty());
  EXPECT_THAT(list({.window = {1, 2}}), ElementsAre(2, 3));
  EXPECT_THAT(list({.window = {-2, 0}}), ElementsAre(4, 5));
  EXPECT_THAT(list({.window = {-2, 1}}), ElementsAre(4));
  EXPECT_THAT(list({.window = {9, 3}}), IsEmpty());
  EXPECT_THAT(list({.window = {0, -1}}), IsEmpty());
  EXPECT_EQ(store_->ListExperiments({.window = {0, -1}})->total, 5);
  EXPECT_EQ(store_->ListExperiments({.window = {9, 3}, .name = "mnist"})->total, 4);
}

TEST_P(StoreContractTest, SortsExperimentsByWhatExistingClientsName) {
  std::vector<cluster::Change> changes;
  for (int i = 1; i <= 3; ++i) {
    experiment::Experiment e = MakeExperiment(i);
    if (i != 2) e.forked_from = model::ExperimentId(4 - i);
    if (i != 3) e.best_metric = 1.0 / i;
    e.queue.resource_pool = i == 2 ? "a" : "b";
    changes.push_back(cluster::PutExperiment{e});
    changes.push_back(cluster::PutTrial{MakeTrial(i, i)});
  }
  changes.push_back(cluster::AddCheckpoint{MakeCheckpoint("a", 2, 1)});
  Commit(changes);
  using Sort = ExperimentQuery::Sort;
  const auto list = [&](const ExperimentQuery& query) {
    return Ids(*store_->ListExperiments(query));
  };
  EXPECT_THAT(list({.sort = Sort::kForkedFrom}), ElementsAre(3, 1, 2));
  EXPECT_THAT(list({.sort = Sort::kResourcePool}), ElementsAre(2, 1, 3));
  EXPECT_THAT(list({.sort = Sort::kCheckpointCount, .descending = true}), ElementsAre(2, 3, 1));
  EXPECT_THAT(list({.sort = Sort::kCheckpointSize, .descending = true}), ElementsAre(2, 3, 1));
  EXPECT_THAT(list({.sort = Sort::kBestMetric}), ElementsAre(2, 1, 3));
  EXPECT_THAT(list({.sort = Sort::kProject}), ElementsAre(1, 2, 3));
}

TEST_P(StoreContractTest, FiltersExperimentsOfArchivedProject) {
  ProjectRecord project;
  project.name = "old";
  project.workspace = 1;
  const ProjectRecord old = *store_->projects().AddProject(project);
  std::vector<cluster::Change> changes;
  for (int i = 1; i <= 3; ++i) {
    experiment::Experiment e = MakeExperiment(i);
    if (i > 1) e.project = old.id;
    changes.push_back(cluster::PutExperiment{e});
  }
  Commit(changes);
  Commit({cluster::SetArchived{model::ExperimentId(3), true}});
  ASSERT_TRUE(store_->projects().ChangeProject(old.id, {.archived = true}).ok());
  const auto list = [&](const ExperimentQuery& query) {
    return Ids(*store_->ListExperiments(query));
  };
  EXPECT_THAT(list({.archived = false}), ElementsAre(1));
  EXPECT_THAT(list({.archived = true}), ElementsAre(2, 3));
  EXPECT_THAT(list({.project = old.id, .archived = false}), ElementsAre(2));
  EXPECT_FALSE(store_->GetExperiment(model::ExperimentId(1))->parent_archived);
  EXPECT_TRUE(store_->GetExperiment(model::ExperimentId(2))->parent_archived);
}

TEST_P(StoreContractTest, KeepsCheckpointWithItsTrial) {
  Commit({cluster::PutExperiment{MakeExperiment(1)}, cluster::PutTrial{MakeTrial(1, 1)},
          cluster::PutTrial{MakeTrial(2, 1)}, cluster::AddCheckpoint{MakeCheckpoint("a", 1, 10)}});
  Commit({cluster::AddCheckpoint{MakeCheckpoint("a", 2, 99)}});
  const CheckpointEntry entry = *store_->GetCheckpoint(model::CheckpointId("a"));
  EXPECT_EQ(entry.checkpoint.trial, model::TrialId(1));
  EXPECT_EQ(entry.checkpoint.steps_completed, 10);
}

TEST_P(StoreContractTest, CountsTrialsAndCheckpoints) {
  const UserRecord alice = *store_->users().AddUser({.username = "alice"});
  experiment::Experiment e = MakeExperiment(1);
  e.owner = alice.id;
  e.context_hash = "abc";
  Commit({cluster::PutExperiment{e}, cluster::PutExperiment{MakeExperiment(2)},
          cluster::PutTrial{MakeTrial(1, 1)}, cluster::PutTrial{MakeTrial(2, 1)},
          cluster::PutTrial{MakeTrial(3, 2)}, cluster::AddCheckpoint{MakeCheckpoint("a", 1, 10)},
          cluster::AddCheckpoint{MakeCheckpoint("b", 2, 10)}});
  ASSERT_TRUE(store_->PutContext("abc", std::string(1000, 'x')).ok());
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

TEST_P(StoreContractTest, ListsTrialsByFilterSortAndWindow) {
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
  EXPECT_THAT(list(MakeBareTrialQuery(id)), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(*store_->ListTrialIds(id), ElementsAre(model::TrialId(1), model::TrialId(2),
                                                     model::TrialId(3), model::TrialId(4)));
  EXPECT_EQ(store_->ListTrials({.experiment = id, .window = {0, 1}})->total, 4);
  experiment::Trial warm = MakeTrial(9, 2);
  warm.warm_start = model::CheckpointId("c");
  Commit({cluster::PutExperiment{MakeExperiment(2)}, cluster::PutTrial{warm}});
  EXPECT_THAT(list({.warm_start = model::CheckpointId("c")}), ElementsAre(9));
  EXPECT_THAT(list({.warm_start = model::CheckpointId("d")}), IsEmpty());
  EXPECT_THAT(list({.experiment = model::ExperimentId(7)}), IsEmpty());
  EXPECT_THAT(*store_->ListTrialIds(model::ExperimentId(7)), IsEmpty());
}

TEST_P(StoreContractTest, ReturnsBestAndLatestOfTrial) {
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
  EXPECT_EQ(record.reported_steps, 50);
  EXPECT_EQ(record.latest_validation->metrics.ToJson(), R"({"accuracy":"NaN"})");
  model::MetricReport again = MakeReport(1, "validation", 25, kNan);
  again.run_id = t.run_id = 1;
  Commit({cluster::PutTrial{t}, cluster::AddMetrics{again}});
  EXPECT_EQ(store_->GetTrial(t.id)->latest_validation->steps_completed, 25) << "of a later attempt";
  EXPECT_EQ(store_->GetTrial(t.id)->reported_steps, 25) << "of a later attempt";
  const TrialRecord bare = *store_->GetBareTrial(record.trial.id);
  EXPECT_EQ(bare.trial.task, record.trial.task);
  EXPECT_FALSE(bare.latest_validation);
  EXPECT_TRUE(absl::IsNotFound(store_->GetBareTrial(model::TrialId(99)).status()));
  EXPECT_EQ(record.best_checkpoint, MakeCheckpoint("b", 1, 30));
  EXPECT_EQ(record.checkpoint_count, 4);
  EXPECT_EQ(record.checkpoint_size, 4 * 1024);
  EXPECT_TRUE(absl::IsNotFound(store_->GetTrial(model::TrialId(2)).status()));
}

TEST_P(StoreContractTest, ListsAllocationsByAttempt) {
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

TEST_P(StoreContractTest, RanksCheckpointsByFirstObjective) {
  experiment::Experiment experiment = MakeExperiment(1);
  auto config = std::make_shared<model::ExperimentConfig>(*experiment.config);
  config->searcher.other_objectives.push_back({.metric = "latency"});
  experiment.config = std::move(config);
  Commit({cluster::PutExperiment{experiment}, cluster::PutTrial{MakeTrial(1, 1)},
          cluster::AddCheckpoint{MakeCheckpoint("a", 1, 20)},
          cluster::AddMetrics{MakeReport(1, "validation", 20, 0.5)}});
  EXPECT_EQ(store_->GetCheckpoint(model::CheckpointId("a"))->searcher_metric, 0.5);
}

TEST_P(StoreContractTest, ReturnsCheckpointsWithTrainingMetrics) {
  model::MetricReport old = MakeReport(1, "training", 30, 0.5), report = old;
  old.run_id = 0;
  report.run_id = 1;
  report.metrics = model::Value::Object{{"loss", 0.25}};
  report.batch_metrics = model::Value::List{model::Value::Object{{"loss", 1.5}}};
  Commit({cluster::PutExperiment{MakeExperiment(1)}, cluster::PutTrial{MakeTrial(1, 1)},
          cluster::AddCheckpoint{MakeCheckpoint("a", 1, 30)},
          cluster::AddCheckpoint{MakeCheckpoint("b", 1, 40)}, cluster::AddMetrics{old},
          cluster::AddMetrics{report}, cluster::AddMetrics{MakeReport(1, "training", 20, 0.75)}});
  const CheckpointPage page = *store_->ListCheckpoints({});
  for (const CheckpointEntry& entry :
       {page.checkpoints.at(0), *store_->GetCheckpoint(model::CheckpointId("a"))}) {
    EXPECT_EQ(entry.training_metrics, report.metrics);
    EXPECT_EQ(entry.training_batches, report.batch_metrics);
    EXPECT_TRUE(entry.validation_metrics.is_null());
    EXPECT_EQ(entry.task, MakeTrial(1, 1).task);
  }
  EXPECT_TRUE(page.checkpoints.at(1).training_metrics.is_null());
}

TEST_P(StoreContractTest, ReturnsCheckpointsWithValidation) {
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
  EXPECT_THAT(list({.ids = {model::CheckpointId("a"), model::CheckpointId("c")}}),
              ElementsAre("c", "a"));
  // The order is the same for every window.
  for (const Window& window : {Window{0, 1}, Window{0, 3}, Window{1, 1}, Window{2, 5}, Window{2, 0},
                               Window{3, 1}, Window{9, 0}, Window{-1, 0}}) {
    EXPECT_EQ(store_->ListCheckpoints({.window = window})->total, 3)
        << window.offset << " " << window.limit;
  }
}

TEST_P(StoreContractTest, SortsCheckpoints) {
  const auto report = [](int64_t steps, double accuracy, model::Value loss) {
    model::MetricReport r = MakeReport(1, "validation", steps, accuracy);
    r.metrics = model::Value::Object{{"accuracy", accuracy}, {"loss", std::move(loss)}};
    return cluster::AddMetrics{r};
  };
  Commit({cluster::PutExperiment{MakeExperiment(1)}, cluster::PutTrial{MakeTrial(1, 1)},
          cluster::PutTrial{MakeTrial(2, 1)}, cluster::AddCheckpoint{MakeCheckpoint("d", 1, 10)},
          cluster::AddCheckpoint{MakeCheckpoint("c", 1, 20)},
          cluster::AddCheckpoint{MakeCheckpoint("b", 1, 30)},
          cluster::AddCheckpoint{MakeCheckpoint("a", 2, 40)}, report(10, 0.5, 0.25),
          report(20, 0.75, "NaN"), report(30, 0.25, 0.125)});
  using Sort = CheckpointQuery::Sort;
  const auto sorted = [&](Sort sort, bool descending = false, std::string metric = "") {
    return Ids(*store_->ListCheckpoints(
        {.sort = sort, .metric = std::move(metric), .descending = descending}));
  };
  EXPECT_THAT(sorted(Sort::kId), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(sorted(Sort::kId, true), ElementsAre("d", "c", "b", "a"));
  EXPECT_THAT(sorted(Sort::kTrial), ElementsAre("d", "c", "b", "a"));
  EXPECT_THAT(sorted(Sort::kTrial, true), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(sorted(Sort::kSteps, true), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(sorted(Sort::kState), ElementsAre("d", "c", "b", "a"));
  EXPECT_THAT(sorted(Sort::kTime), ElementsAre("d", "c", "b", "a"));
  // Best first, which is the greatest value here; checkpoints without a number come last.
  EXPECT_THAT(sorted(Sort::kSearcherMetric), ElementsAre("c", "d", "b", "a"));
  EXPECT_THAT(sorted(Sort::kSearcherMetric, true), ElementsAre("b", "d", "c", "a"));
  EXPECT_THAT(sorted(Sort::kMetric, false, "loss"), ElementsAre("b", "d", "c", "a"));
  EXPECT_THAT(sorted(Sort::kMetric, true, "loss"), ElementsAre("d", "b", "a", "c"));
}

}  // namespace
}  // namespace det::store
