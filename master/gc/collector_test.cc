// A pass on a store in memory and on real files, broken off before and after each of its steps.
#include "master/gc/collector.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>

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

using ::testing::IsEmpty;

using model::CheckpointId;
using model::ExperimentId;
using model::ExperimentState;
using store::MakeCheckpoint;
using store::MakeReport;
using store::MakeTrial;

// The master dies at its n-th step: before the step's effect, or behind it, before it hears of it.
class Death {
 public:
  explicit Death(int at) : left_(at) {}

  template <class Step>
  auto Around(const Step& step) -> decltype(step()) {
    if (left_-- == 0) dead_ = true;
    if (dead_) return absl::UnavailableError("dead");
    auto result = step();
    if (left_-- == 0) dead_ = true;
    if (dead_) return absl::UnavailableError("dead");
    return result;
  }
  bool dead() const { return dead_; }

 private:
  int left_;
  bool dead_ = false;
};

class DyingGarbageCollection final : public store::GarbageCollection {
 public:
  DyingGarbageCollection(store::GarbageCollection* garbage_collection, Death* death)
      : garbage_collection_(*garbage_collection), death_(*death) {}

  using Ids = std::vector<ExperimentId>;
  absl::StatusOr<Ids> ListDueRetentions(ExperimentId after, int limit) override {
    return death_.Around([&] { return garbage_collection_.ListDueRetentions(after, limit); });
  }
  absl::StatusOr<std::vector<store::CheckpointToDelete>> ListCheckpointsToDelete(
      const CheckpointId& after, int) override {
    return death_.Around([&] { return garbage_collection_.ListCheckpointsToDelete(after, 1); });
  }
  absl::Status MarkCheckpointsDeleted(const std::vector<CheckpointId>& ids) override {
    return death_.Around([&] { return garbage_collection_.MarkCheckpointsDeleted(ids); });
  }
  absl::StatusOr<std::vector<store::CheckpointToTrim>> ListCheckpointsToTrim(
      const CheckpointId& after, int) override {
    return death_.Around([&] { return garbage_collection_.ListCheckpointsToTrim(after, 1); });
  }
  absl::Status MarkCheckpointTrimmed(const store::CheckpointToTrim& trimmed,
                                     const model::Resources& left) override {
    return death_.Around([&] { return garbage_collection_.MarkCheckpointTrimmed(trimmed, left); });
  }
  absl::StatusOr<Ids> ListDeletions() override {
    return death_.Around([&] { return garbage_collection_.ListDeletions(); });
  }
  absl::StatusOr<Ids> ListReleased() override {
    return death_.Around([&] { return garbage_collection_.ListReleased(); });
  }
  absl::StatusOr<bool> RemoveRows(ExperimentId id, int) override {
    return death_.Around([&] { return garbage_collection_.RemoveRows(id, 1); });
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
  absl::StatusOr<bool> RemoveExpiredLogs(absl::Time now, int days, int) override {
    return death_.Around([&] { return garbage_collection_.RemoveExpiredLogs(now, days, 1); });
  }
  absl::StatusOr<bool> RemoveExpiredAudit(absl::Time until, int) override {
    return death_.Around([&] { return garbage_collection_.RemoveExpiredAudit(until, 1); });
  }
  absl::Status MarkDeletionFailed(ExperimentId id, const std::string& reason) override {
    return death_.Around([&] { return garbage_collection_.MarkDeletionFailed(id, reason); });
  }
  absl::StatusOr<std::vector<store::HeldCheckpoint>> ListHeldCheckpoints(ExperimentId id) override {
    return garbage_collection_.ListHeldCheckpoints(id);
  }

 private:
  store::GarbageCollection& garbage_collection_;
  Death& death_;
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
  absl::Status Pass(Death& death) {
    DyingGarbageCollection garbage_collection(&store_->garbage_collection(), &death);
    Collector collector({.store = store_.get(),
                         .garbage_collection = &garbage_collection,
                         .submit =
                             [&](const cluster::Event& event) {
                               return death.Around([&] { return Submit(event); });
                             },
                         .remove_files = [&](const model::CheckpointStorageConfig& storage,
                                             const CheckpointId& id) -> absl::Status {
                           if (blocked_.contains(id.value()))
                             return absl::FailedPreconditionError("blocked");
                           return death.Around([&] { return RemoveCheckpointFolder(storage, id); });
                         },
                         .remove_some_files = [&](const model::CheckpointStorageConfig& storage,
                                                  const CheckpointId& id,
                                                  const model::Resources& files) -> absl::Status {
                           if (blocked_.contains(id.value()))
                             return absl::FailedPreconditionError("blocked");
                           return death.Around(
                               [&] { return RemoveFromCheckpointFolder(storage, id, files); });
                         },
                         .stopping = [&] { return death.dead(); }});
    return collector.Collect();
  }
  // A master that lives: each pass may make work for the next.
  void GcThread() {
    for (int pass = 0; pass < 4; ++pass) {
      Death never(-1);
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
  // With its files.
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
  // 1 has ended with four checkpoints, of which the best and the newest stay. 2 is being deleted;
  // of its three checkpoints 3, which runs, starts from one. 4 was deleted before, but for what 5
  // held, which is being deleted now.
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
  void CheckTheEnd() {
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
  std::set<std::string> blocked_;  // what may not be removed
};

TEST_F(CollectorTest, DeletesAll_AfterCrashAtAnyStep) {
  bool died = true;
  int steps = 0;
  for (; died; ++steps) {
    SCOPED_TRACE(absl::StrCat("dies at ", steps));
    Begin();
    MakeHistory();
    Restart();
    Death death(steps);
    (void)Pass(death);
    died = death.dead();
    // What stays is there at every moment.
    for (const char* id : {"1b", "1d", "2b", "3a"}) EXPECT_TRUE(Files().contains(id)) << id;
    Restart();
    GcThread();
    CheckTheEnd();
    if (HasFailure()) return;
  }
  EXPECT_GT(steps, 30);
}

// Of a checkpoint of three files; experiment 1 keeps all of them.
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
  bool died = true;
  int steps = 0;
  for (; died; ++steps) {
    SCOPED_TRACE(absl::StrCat("dies at ", steps));
    Begin();
    MakeTrial();
    ASSERT_TRUE(Trim({"opt*", "state/*"}).ok());
    Restart();
    Death death(steps);
    (void)Pass(death);
    died = death.dead();
    EXPECT_TRUE(Has("a/model.pt") && Has("b/model.pt"));
    Restart();
    GcThread();
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
  GcThread();
  EXPECT_EQ(States(1), "a=PARTIALLY_DELETED b=COMPLETED ");
  EXPECT_EQ(store_->GetCheckpoint(CheckpointId("a"))->checkpoint.resources.size(), 3u);
  blocked_.clear();
  GcThread();
  EXPECT_EQ(store_->GetCheckpoint(CheckpointId("a"))->checkpoint.resources.size(), 2u);
}

TEST_F(TrimTest, RemovesFolderWithLastFile) {
  Begin();
  MakeTrial();
  std::ofstream(dir_->path() + "/a/manifest.json") << "{}";
  ASSERT_TRUE(Trim({"opt*", "**/rank*"}).ok());
  GcThread();
  EXPECT_TRUE(Has("a/manifest.json"));
  ASSERT_TRUE(Trim({"*"}).ok());
  GcThread();
  EXPECT_EQ(Files(), (std::set<std::string>{"b"}));
  EXPECT_EQ(States(1), "a=DELETED b=COMPLETED ");
}

TEST_F(TrimTest, RemovesRestByRetentionAndDeletion) {
  Begin();
  MakeTrial();
  ASSERT_TRUE(Trim({"opt*"}).ok());
  GcThread();
  ASSERT_TRUE(Submit(cluster::SetRetention{ExperimentId(1), {0, 0, 1}}).ok());
  GcThread();
  EXPECT_EQ(States(1), "a=DELETED b=COMPLETED ");
  EXPECT_EQ(Files(), (std::set<std::string>{"b"}));
  ASSERT_TRUE(Submit(cluster::DeleteCheckpoints{{}, {{CheckpointId("b"), {"*.none"}}}}).ok());
  ASSERT_TRUE(Submit(cluster::DeleteExperiment{ExperimentId(1)}).ok());
  GcThread();
  EXPECT_THAT(Files(), IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(store_->GetExperiment(ExperimentId(1)).status()));
}

TEST_F(CollectorTest, FailsDeletionWithReason_WhenFilesCannotBeRemoved) {
  Begin();
  MakeHistory();
  Restart();
  blocked_ = {"2c"};
  GcThread();
  const experiment::Experiment failed = store_->GetExperiment(ExperimentId(2))->experiment;
  EXPECT_EQ(failed.state, ExperimentState::kDeleteFailed);
  EXPECT_EQ(failed.reason, "blocked");
  EXPECT_EQ(States(2), "2a=DELETED 2b=COMPLETED 2c=DELETING ");
  EXPECT_EQ(store_->ListLogs({.task = model::TaskId("2.2")})->size(), 1u);
  blocked_.clear();
  ASSERT_TRUE(Submit(cluster::DeleteExperiment{ExperimentId(2)}).ok());
  GcThread();
  CheckTheEnd();
}

TEST_F(CollectorTest, AppliesNewPolicyOnlyToEndedExperiments) {
  Begin();
  MakeHistory();
  Restart();
  GcThread();
  ASSERT_TRUE(Submit(cluster::SetRetention{ExperimentId(1), {0, 0, 1}}).ok());
  ASSERT_TRUE(Submit(cluster::SetRetention{ExperimentId(3), {0, 0, 0}}).ok());
  GcThread();
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
