// Passes on a store in memory and on real files, interrupted before and after each step.
#include "master/gc/collector.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "master/core/cluster/cluster.h"
#include "master/gc/checkpoint_folder.h"
#include "master/store/testing/fake_store.h"
#include "master/store/testing/make_rows.h"
#include <gmock/gmock.h>

namespace det::gc {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::IsEmpty;

using model::CheckpointId;
using model::ExperimentId;
using model::ExperimentState;
using store::MakeCheckpoint;
using store::MakeReport;
using store::MakeTrial;

// Simulates a crash at the n-th point: before a step takes effect, or after it but before the
// master knows.
class CrashPoint {
 public:
  explicit CrashPoint(int at) : left_(at) {}

  template <class Step>
  auto Around(const Step& step) -> decltype(step()) {
    if (left_-- == 0) crashed_ = true;
    if (crashed_) return absl::UnavailableError("crashed");
    auto result = step();
    if (left_-- == 0) crashed_ = true;
    if (crashed_) return absl::UnavailableError("crashed");
    return result;
  }
  bool crashed() const { return crashed_; }

 private:
  int left_;
  bool crashed_ = false;
};

class CrashingGarbageCollection final : public store::GarbageCollection {
 public:
  CrashingGarbageCollection(store::GarbageCollection* garbage_collection, CrashPoint* crash)
      : garbage_collection_(*garbage_collection), crash_(*crash) {}

  using Ids = std::vector<ExperimentId>;
  absl::StatusOr<Ids> ListDueRetentions(ExperimentId after, int limit) override {
    return crash_.Around([&] { return garbage_collection_.ListDueRetentions(after, limit); });
  }
  absl::StatusOr<std::vector<store::CheckpointToDelete>> ListCheckpointsToDelete(
      const CheckpointId& after, int) override {
    return crash_.Around([&] { return garbage_collection_.ListCheckpointsToDelete(after, 1); });
  }
  absl::Status MarkCheckpointsDeleted(const std::vector<CheckpointId>& ids) override {
    return crash_.Around([&] { return garbage_collection_.MarkCheckpointsDeleted(ids); });
  }
  absl::StatusOr<std::vector<store::CheckpointToTrim>> ListCheckpointsToTrim(
      const CheckpointId& after, int) override {
    return crash_.Around([&] { return garbage_collection_.ListCheckpointsToTrim(after, 1); });
  }
  absl::Status MarkCheckpointTrimmed(const store::CheckpointToTrim& trimmed,
                                     const model::Resources& left) override {
    return crash_.Around([&] { return garbage_collection_.MarkCheckpointTrimmed(trimmed, left); });
  }
  absl::StatusOr<Ids> ListDeletions() override {
    return crash_.Around([&] { return garbage_collection_.ListDeletions(); });
  }
  absl::StatusOr<Ids> ListOfDeletedProjects() override {
    return crash_.Around([&] { return garbage_collection_.ListOfDeletedProjects(); });
  }
  absl::StatusOr<Ids> ListReleased() override {
    return crash_.Around([&] { return garbage_collection_.ListReleased(); });
  }
  absl::StatusOr<bool> RemoveRows(ExperimentId id, int) override {
    return crash_.Around([&] { return garbage_collection_.RemoveRows(id, 1); });
  }
  absl::Status SetExperimentLogDays(ExperimentId id, int days) override {
    return garbage_collection_.SetExperimentLogDays(id, days);
  }
  absl::Status SetTrialLogDays(model::TrialId id, int days) override {
    return garbage_collection_.SetTrialLogDays(id, days);
  }
  absl::StatusOr<std::optional<int>> GetTrialLogDays(model::TrialId id) override {
    return garbage_collection_.GetTrialLogDays(id);
  }
  absl::StatusOr<int> RemoveExpiredLogs(absl::Time now, int days, int) override {
    return crash_.Around([&] { return garbage_collection_.RemoveExpiredLogs(now, days, 1); });
  }
  absl::StatusOr<bool> RemoveExpiredAudit(absl::Time until, int) override {
    return crash_.Around([&] { return garbage_collection_.RemoveExpiredAudit(until, 1); });
  }
  absl::Status MarkDeletionFailed(ExperimentId id, const std::string& reason) override {
    return crash_.Around([&] { return garbage_collection_.MarkDeletionFailed(id, reason); });
  }
  absl::StatusOr<std::vector<store::HeldCheckpoint>> ListHeldCheckpoints(ExperimentId id) override {
    return garbage_collection_.ListHeldCheckpoints(id);
  }

 private:
  store::GarbageCollection& garbage_collection_;
  CrashPoint& crash_;
};

class CollectorTest : public ::testing::Test {
 protected:
  void Begin() {
    dir_.emplace(*base::TempDir::Create());
    database_ = store::MakeFakeDatabase();
    Restart();
  }
  void Restart() {
    store_ = std::make_unique<store::FakeStore>(database_);
    sequence_ = 0;
    cluster_ = std::make_unique<cluster::Cluster>(cluster::Settings{});
    const absl::Status restored = cluster_->Restore(*store_->Load());
    ASSERT_TRUE(restored.ok()) << restored;
  }
  void Commit(const std::vector<cluster::Change>& changes) {
    ASSERT_TRUE(store_->Commit(++sequence_, changes).ok());
  }
  absl::Status Submit(const cluster::Event& event) {
    auto outcome = cluster_->Apply(event, store::TimeAt(1000));
    if (!outcome.ok()) return outcome.status();
    return store_->Commit(++sequence_, outcome->changes);
  }
  absl::Status Pass(CrashPoint& crash) {
    CrashingGarbageCollection garbage_collection(&store_->garbage_collection(), &crash);
    Collector collector(
        {.store = store_.get(),
         .garbage_collection = &garbage_collection,
         .submit =
             [&](const cluster::Event& event) {
               return crash.Around([&] { return Submit(event); });
             },
         .remove_files = [&](const model::CheckpointStorageConfig& storage,
                             const CheckpointId& id) -> absl::Status {
           if (blocked_.contains(id.value())) return absl::FailedPreconditionError("blocked");
           return crash.Around([&] { return RemoveCheckpointFolder(storage, id); });
         },
         .remove_some_files = [&](const model::CheckpointStorageConfig& storage,
                                  const CheckpointId& id,
                                  const model::Resources& files) -> absl::Status {
           if (blocked_.contains(id.value())) return absl::FailedPreconditionError("blocked");
           return crash.Around([&] { return RemoveFromCheckpointFolder(storage, id, files); });
         },
         .remove_experiment_files = [&](const model::CheckpointStorageConfig&, ExperimentId id,
                                        const std::vector<model::TrialId>& trials) -> absl::Status {
           if (blocked_.contains(absl::StrCat("experiment ", id.value())))
             return absl::FailedPreconditionError("blocked");
           return crash.Around([&] {
             cleaned_[id] = trials;
             return absl::OkStatus();
           });
         },
         .stopping = [&] { return crash.crashed(); }});
    return collector.Collect();
  }
  // Runs passes without a crash. Each pass may create work for the next.
  void CollectAll() {
    for (int pass = 0; pass < 4; ++pass) {
      CrashPoint never(-1);
      const absl::Status done = Pass(never);
      ASSERT_TRUE(done.ok()) << done;
    }
  }

  cluster::PutExperiment Experiment(int id, ExperimentState state) {
    experiment::Experiment e = store::MakeExperiment(id);
    e.state = state;
    model::ExperimentConfig config = *e.config;
    config.checkpoint_storage.host_path = dir_->path();
    e.config = std::make_shared<const model::ExperimentConfig>(std::move(config));
    return {e};
  }
  // Creates a checkpoint and its files.
  cluster::AddCheckpoint Saved(const std::string& id, int trial, int64_t steps) {
    fs::create_directories(dir_->path() + "/" + id);
    std::ofstream(dir_->path() + "/" + id + "/model.pt") << "x";
    return {MakeCheckpoint(id, trial, steps)};
  }
  std::set<std::string> Files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(dir_->path())) {
      names.insert(entry.path().filename());
    }
    return names;
  }
  std::string States(int experiment) {
    std::string text;
    const auto page = store_->ListCheckpoints({.experiment = ExperimentId(experiment)});
    for (const store::CheckpointEntry& entry : page->checkpoints) {
      absl::StrAppend(&text, entry.checkpoint.id.value(), "=",
                      std::string(ToString(entry.checkpoint.state)), " ");
    }
    return text;
  }
  // Experiment 1 has ended with four checkpoints, of which the best and the newest are kept. 2 is
  // being deleted; the running experiment 3 uses one of its three checkpoints. 4 was deleted except
  // for a checkpoint that 5 uses, and 5 is being deleted now.
  void MakeHistory() {
    cluster::PutExperiment three = Experiment(3, ExperimentState::kActive);
    three.experiment.warm_start = CheckpointId("2b");
    cluster::PutExperiment five = Experiment(5, ExperimentState::kCanceled);
    five.experiment.warm_start = CheckpointId("4a");
    std::vector<cluster::Change> changes;
    changes.emplace_back(Experiment(1, ExperimentState::kCompleted));
    changes.emplace_back(Experiment(2, ExperimentState::kError));
    changes.emplace_back(three);
    changes.emplace_back(Experiment(4, ExperimentState::kCompleted));
    changes.emplace_back(five);
    for (int id = 1; id <= 5; ++id) {
      const std::string task = absl::StrCat(id, ".", id);
      changes.emplace_back(cluster::PutTrial{MakeTrial(id, id)});
      changes.emplace_back(cluster::AddLogLine{store::MakeLine(task, 0, "x")});
      changes.emplace_back(cluster::AddMetrics{MakeReport(id, "training", 1, 0.5)});
    }
    changes.emplace_back(cluster::AddMetrics{MakeReport(1, "validation", 20, 0.9)});
    int steps = 0;
    for (const char* id : {"1a", "1b", "1c", "1d"}) changes.emplace_back(Saved(id, 1, steps += 10));
    for (const char* id : {"2a", "2b", "2c"}) changes.emplace_back(Saved(id, 2, 10));
    for (const int id : {3, 4, 5}) changes.emplace_back(Saved(absl::StrCat(id, "a"), id, 10));
    changes.emplace_back(cluster::PutSearcher{
        ExperimentId(3), 1, searcher::Searcher::Make(*three.experiment.config)->Snapshot()});
    Commit(changes);
    Commit({cluster::MarkDeleting{ExperimentId(4)}});
    while (!*store_->garbage_collection().RemoveRows(ExperimentId(4), 100)) {
    }
    Commit({cluster::MarkDeleting{ExperimentId(2)}, cluster::MarkDeleting{ExperimentId(5)}});
  }
  void CheckFinalState() {
    EXPECT_EQ(Files(), (std::set<std::string>{"1b", "1d", "2b", "3a"}));
    EXPECT_EQ(States(1), "1a=DELETED 1b=COMPLETED 1c=DELETED 1d=COMPLETED ");
    EXPECT_EQ(States(2), "2b=COMPLETED ");
    EXPECT_EQ(store_->GetExperiment(ExperimentId(2))->experiment.state, ExperimentState::kDeleted);
    EXPECT_EQ(store_->GetExperiment(ExperimentId(3))->experiment.state, ExperimentState::kActive);
    for (const int gone : {4, 5}) {
      EXPECT_TRUE(absl::IsNotFound(store_->GetExperiment(ExperimentId(gone)).status()));
    }
    for (int id = 1; id <= 5; ++id) {
      const size_t there = id == 1 || id == 3 ? 1 : 0;
      const model::TaskId task(absl::StrCat(id, ".", id));
      EXPECT_EQ(store_->ListLogs({.task = task})->size(), there);
      EXPECT_EQ(store_->ListMetrics({model::TrialId(id)}, "training")->size(), there);
    }
    EXPECT_THAT(*store_->garbage_collection().ListDueRetentions(ExperimentId(0), 10), IsEmpty());
  }

  std::optional<base::TempDir> dir_;
  std::shared_ptr<store::FakeDatabase> database_;
  std::unique_ptr<store::FakeStore> store_;
  std::unique_ptr<cluster::Cluster> cluster_;
  int64_t sequence_ = 0;
  std::set<std::string> blocked_;  // paths that cannot be removed
  // The trials whose files beside the checkpoints were removed.
  std::map<ExperimentId, std::vector<model::TrialId>> cleaned_;
};

TEST_F(CollectorTest, DeletesAll_AfterCrashAtAnyStep) {
  bool crashed = true;
  int steps = 0;
  for (; crashed; ++steps) {
    SCOPED_TRACE(absl::StrCat("crashes at ", steps));
    Begin();
    MakeHistory();
    Restart();
    CrashPoint crash(steps);
    (void)Pass(crash);
    crashed = crash.crashed();
    // Kept checkpoints exist at every moment.
    for (const char* id : {"1b", "1d", "2b", "3a"}) EXPECT_TRUE(Files().contains(id)) << id;
    Restart();
    CollectAll();
    CheckFinalState();
    if (HasFailure()) return;
  }
  EXPECT_GT(steps, 30);
}

TEST_F(CollectorTest, DeletesWorkspaceWithItsExperiments) {
  Begin();
  MakeHistory();
  store::WorkspaceRecord workspace;
  workspace.name = "old";
  const int32_t old = store_->workspaces().AddWorkspace(workspace)->id;
  store::ProjectRecord project;
  project.name = "old";
  project.workspace = old;
  const int32_t project_id = store_->projects().AddProject(project)->id;
  const auto move = [&](int id) {
    Commit({cluster::SetProject{ExperimentId(id), {old, project_id, "old", "old"}}});
  };
  move(3);
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->workspaces().StartDeletion(old)))
      << "experiment 3 runs";
  Commit({cluster::SetProject{ExperimentId(3), {1, 1, "Uncategorized", "Uncategorized"}}});
  move(1);
  ASSERT_TRUE(store_->workspaces().StartDeletion(old).ok());
  Restart();
  CollectAll();
  EXPECT_TRUE(absl::IsNotFound(store_->GetExperiment(ExperimentId(1)).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->workspaces().GetWorkspaceName(old).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->projects().GetProject(project_id).status()));
  EXPECT_EQ(Files(), (std::set<std::string>{"2b", "3a"}));
}

TEST_F(CollectorTest, ReportsFailure_WhenFilesOfProjectCannotBeRemoved) {
  Begin();
  MakeHistory();
  store::ProjectRecord project;
  project.name = "old";
  project.workspace = 1;
  const int32_t id = store_->projects().AddProject(project)->id;
  Commit({cluster::SetProject{ExperimentId(1), {1, id, "Uncategorized", "old"}}});
  ASSERT_TRUE(store_->projects().StartDeletion(id).ok());
  Restart();
  blocked_.insert("1b");
  CollectAll();
  EXPECT_EQ(store_->projects().GetProject(id)->state, store::WorkspaceState::kDeleteFailed);
  EXPECT_THAT(store_->projects().GetProject(id)->error, HasSubstr("contains 1 experiment"));
  blocked_.clear();
  ASSERT_TRUE(store_->projects().StartDeletion(id).ok());
  CollectAll();
  EXPECT_TRUE(absl::IsNotFound(store_->projects().GetProject(id).status()));
}

// A checkpoint with three files; experiment 1 keeps all its checkpoints.
class TrimTest : public CollectorTest {
 protected:
  void MakeTrial() {
    cluster::PutExperiment one = Experiment(1, ExperimentState::kCompleted);
    model::ExperimentConfig config = *one.experiment.config;
    config.checkpoint_storage.save_trial_latest = 9;
    one.experiment.config = std::make_shared<const model::ExperimentConfig>(std::move(config));
    cluster::AddCheckpoint a = Saved("a", 1, 10), b = Saved("b", 1, 20);
    fs::create_directories(dir_->path() + "/a/state");
    for (const char* file : {"opt.pt", "state/rank 0"}) {
      std::ofstream(dir_->path() + "/a/" + file) << "x";
    }
    a.checkpoint.resources = {{"model.pt", 1}, {"opt.pt", 1}, {"state/rank 0", 1}};
    std::vector<cluster::Change> changes;
    changes.emplace_back(one);
    changes.emplace_back(cluster::PutTrial{store::MakeTrial(1, 1)});
    changes.emplace_back(a);
    changes.emplace_back(b);
    Commit(changes);
    Restart();
  }
  absl::Status Trim(model::Globs globs) {
    return Submit(cluster::DeleteCheckpoints{{}, {{CheckpointId("a"), std::move(globs)}}});
  }
  bool Has(const std::string& path) const { return fs::exists(dir_->path() + "/" + path); }
};

TEST_F(TrimTest, TrimsExactlyNamedFiles_AfterCrashAtAnyStep) {
  bool crashed = true;
  int steps = 0;
  for (; crashed; ++steps) {
    SCOPED_TRACE(absl::StrCat("crashes at ", steps));
    Begin();
    MakeTrial();
    ASSERT_TRUE(Trim({"opt*", "state/*"}).ok());
    Restart();
    CrashPoint crash(steps);
    (void)Pass(crash);
    crashed = crash.crashed();
    EXPECT_TRUE(Has("a/model.pt") && Has("b/model.pt"));
    Restart();
    CollectAll();
    EXPECT_TRUE(Has("a/model.pt") && Has("b/model.pt"));
    EXPECT_FALSE(Has("a/opt.pt") || Has("a/state"));
    EXPECT_EQ(States(1), "a=PARTIALLY_DELETED b=COMPLETED ");
    EXPECT_EQ(store_->GetCheckpoint(CheckpointId("a"))->checkpoint.resources,
              (model::Resources{{"model.pt", 1}}));
    if (HasFailure()) return;
  }
  EXPECT_GT(steps, 5);
}

TEST_F(TrimTest, RetriesUnremovableFiles) {
  Begin();
  MakeTrial();
  ASSERT_TRUE(Trim({"opt*"}).ok());
  blocked_ = {"a"};
  CollectAll();
  EXPECT_EQ(States(1), "a=PARTIALLY_DELETED b=COMPLETED ");
  EXPECT_EQ(store_->GetCheckpoint(CheckpointId("a"))->checkpoint.resources.size(), 3u);
  blocked_.clear();
  CollectAll();
  EXPECT_EQ(store_->GetCheckpoint(CheckpointId("a"))->checkpoint.resources.size(), 2u);
}

TEST_F(TrimTest, RemovesFolderWithLastFile) {
  Begin();
  MakeTrial();
  std::ofstream(dir_->path() + "/a/manifest.json") << "{}";
  ASSERT_TRUE(Trim({"opt*", "**/rank*"}).ok());
  CollectAll();
  EXPECT_TRUE(Has("a/manifest.json"));
  ASSERT_TRUE(Trim({"*"}).ok());
  CollectAll();
  EXPECT_EQ(Files(), (std::set<std::string>{"b"}));
  EXPECT_EQ(States(1), "a=DELETED b=COMPLETED ");
}

TEST_F(TrimTest, RemovesRestByRetentionAndDeletion) {
  Begin();
  MakeTrial();
  ASSERT_TRUE(Trim({"opt*"}).ok());
  CollectAll();
  ASSERT_TRUE(Submit(cluster::SetRetention{ExperimentId(1), {0, 0, 1}}).ok());
  CollectAll();
  EXPECT_EQ(States(1), "a=DELETED b=COMPLETED ");
  EXPECT_EQ(Files(), (std::set<std::string>{"b"}));
  ASSERT_TRUE(Submit(cluster::DeleteCheckpoints{{}, {{CheckpointId("b"), {"*.none"}}}}).ok());
  ASSERT_TRUE(Submit(cluster::DeleteExperiment{ExperimentId(1)}).ok());
  CollectAll();
  EXPECT_THAT(Files(), IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(store_->GetExperiment(ExperimentId(1)).status()));
}

TEST_F(CollectorTest, FailsDeletionWithReason_WhenFilesCannotBeRemoved) {
  Begin();
  MakeHistory();
  Restart();
  blocked_ = {"2c"};
  CollectAll();
  const experiment::Experiment failed = store_->GetExperiment(ExperimentId(2))->experiment;
  EXPECT_EQ(failed.state, ExperimentState::kDeleteFailed);
  EXPECT_EQ(failed.reason, "blocked");
  EXPECT_EQ(States(2), "2a=DELETED 2b=COMPLETED 2c=DELETING ");
  EXPECT_EQ(store_->ListLogs({.task = model::TaskId("2.2")})->size(), 1u);
  blocked_ = {"experiment 2"};
  ASSERT_TRUE(Submit(cluster::DeleteExperiment{ExperimentId(2)}).ok());
  CollectAll();
  EXPECT_EQ(store_->GetExperiment(ExperimentId(2))->experiment.state,
            ExperimentState::kDeleteFailed);
  EXPECT_FALSE(cleaned_.contains(ExperimentId(2)));
  blocked_.clear();
  ASSERT_TRUE(Submit(cluster::DeleteExperiment{ExperimentId(2)}).ok());
  CollectAll();
  EXPECT_EQ(cleaned_[ExperimentId(2)], std::vector<model::TrialId>{model::TrialId(2)});
  EXPECT_FALSE(cleaned_.contains(ExperimentId(1))) << "it is not deleted";
  CheckFinalState();
}

TEST_F(CollectorTest, LeavesFoldersOfOtherMachines) {
  Begin();
  experiment::Experiment outside = Experiment(1, ExperimentState::kPaused).experiment;
  outside.unmanaged = true;
  ASSERT_TRUE(store_->detached().AddExperiment(outside).ok());
  Commit({cluster::MarkDeleting{ExperimentId(1)}});
  Restart();
  CollectAll();
  EXPECT_TRUE(absl::IsNotFound(store_->GetExperiment(ExperimentId(1)).status()));
  EXPECT_THAT(cleaned_, IsEmpty());
}

TEST_F(CollectorTest, AppliesNewPolicyOnlyToEndedExperiments) {
  Begin();
  MakeHistory();
  Restart();
  CollectAll();
  ASSERT_TRUE(Submit(cluster::SetRetention{ExperimentId(1), {0, 0, 1}}).ok());
  ASSERT_TRUE(Submit(cluster::SetRetention{ExperimentId(3), {0, 0, 0}}).ok());
  CollectAll();
  EXPECT_EQ(Files(), (std::set<std::string>{"1d", "2b", "3a"}));
}

TEST_F(CollectorTest, StopsBetweenSteps) {
  Begin();
  MakeHistory();
  Collector collector({.store = store_.get(),
                       .garbage_collection = &store_->garbage_collection(),
                       .submit = [&](const cluster::Event& event) { return Submit(event); },
                       .remove_files = RemoveCheckpointFolder,
                       .remove_some_files = RemoveFromCheckpointFolder,
                       .stopping = [] { return true; }});
  EXPECT_TRUE(absl::IsCancelled(collector.Collect()));
  EXPECT_TRUE(Files().contains("1a"));
}

}  // namespace
}  // namespace det::gc
