// Tests a version that refers to a checkpoint concurrently with a batch that deletes the
// checkpoint.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "master/store/postgres/connection.h"
#include "master/store/postgres/postgres_store.h"
#include "master/store/postgres/testing/test_server.h"
#include "master/store/testing/make_rows.h"

namespace det::store {
namespace {

class SqlModelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    experiment::Experiment e = MakeExperiment(1);
    e.state = model::ExperimentState::kCompleted;
    std::vector<cluster::Change> changes;
    changes.emplace_back(cluster::PutExperiment{e});
    changes.emplace_back(cluster::PutTrial{MakeTrial(1, 1)});
    changes.emplace_back(cluster::AddCheckpoint{MakeCheckpoint("a", 1, 10)});
    ASSERT_TRUE(store_->Load().ok());
    ASSERT_TRUE(store_->Commit(1, changes).ok());
    ModelRecord requested;
    requested.name = "bert";
    requested.workspace = kUncategorized;
    requested.owner = model::UserId(1);
    const auto made = store_->models().AddModel(requested);
    ASSERT_TRUE(made.ok()) << made.status();
    bert_ = made->id;
  }
  // Runs `call` on its own thread, and returns once it waits for a lock or has ended.
  template <class Call>
  std::thread Start(const Call& call) {
    std::thread thread([this, call] {
      call();
      ended_ = true;
    });
    const auto waits = [&] {
      const auto locks = other_->Exec("SELECT FROM pg_locks WHERE NOT granted");
      return locks.ok() && locks->rows() > 0;
    };
    // There is no notification of locks, so this polls.
    while (!ended_ && !waits()) std::this_thread::yield();
    return thread;
  }
  model::CheckpointState State() {
    return store_->GetCheckpoint(model::CheckpointId("a"))->checkpoint.state;
  }

  const std::string database_ = TestServer::Get().MakeDatabase();
  const std::unique_ptr<Store> store_ = *OpenPostgresStore(database_);
  const std::unique_ptr<Connection> other_ = *Connection::Open(database_);
  std::atomic<bool> ended_ = false;
  int32_t bert_ = 0;
};

TEST_F(SqlModelsTest, WaitsForVersionInProgressAndKeepsCheckpoint) {
  ASSERT_TRUE(other_
                  ->ExecScript("BEGIN; SELECT hold_batches(1); INSERT INTO model_versions (model, "
                               "version, checkpoint, owner, created_at, updated_at) VALUES (" +
                               std::to_string(bert_) + ", 1, 'a', 1, now(), now())")
                  .ok());
  absl::Status dropped;
  std::thread batch = Start(
      [&] { dropped = store_->Commit(2, {cluster::DropCheckpoints{{model::CheckpointId("a")}}}); });
  EXPECT_FALSE(ended_);
  ASSERT_TRUE(other_->ExecScript("COMMIT").ok());
  batch.join();
  EXPECT_TRUE(dropped.ok()) << dropped;
  EXPECT_EQ(State(), model::CheckpointState::kCompleted);
}

TEST_F(SqlModelsTest, RejectsVersionAfterBatchInProgress) {
  ASSERT_TRUE(other_
                  ->ExecScript("BEGIN; SELECT fence(1, 2); "
                               "UPDATE checkpoints SET state = 'DELETING' WHERE id = 'a'")
                  .ok());
  ModelVersionRecord requested;
  requested.model = bert_;
  requested.checkpoint = model::CheckpointId("a");
  requested.owner = model::UserId(1);
  absl::StatusOr<ModelVersionRecord> made;
  std::thread version = Start([&] { made = store_->models().AddVersion(requested); });
  EXPECT_FALSE(ended_);
  ASSERT_TRUE(other_->ExecScript("COMMIT").ok());
  version.join();
  EXPECT_TRUE(absl::IsFailedPrecondition(made.status())) << made.status();
  EXPECT_EQ(State(), model::CheckpointState::kDeleting);
}

}  // namespace
}  // namespace det::store
