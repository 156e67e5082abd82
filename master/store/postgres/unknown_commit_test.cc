// Tests that a write is executed once if its commit succeeded but the response was lost.
#include <signal.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/postgres_store.h"
#include "master/store/postgres/testing/cutting_proxy.h"
#include "master/store/postgres/testing/test_server.h"
#include "master/store/testing/make_rows.h"
#include <gtest/gtest.h>

namespace det::store {
namespace {

class UnknownCommitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(store_->Load().ok());
    ASSERT_TRUE(store_->Commit(1, {cluster::PutExperiment{MakeExperiment(1)}}).ok());
  }
  static AuditRecord Record(const std::string& request) {
    AuditRecord record;
    record.at = TimeAt(1);
    record.request_id = request;
    record.code = "OK";
    return record;
  }
  static WorkspaceRecord Named(const std::string& name) {
    WorkspaceRecord requested;
    requested.name = name;
    requested.owner = model::UserId(1);
    return requested;
  }

  // Crashes the server, which loses what was not on disk, and waits until it has restarted.
  void Crash() const {
    const auto doomed = *Connection::Open(server_);
    const auto witness = *Connection::Open(server_);
    const auto pid = static_cast<pid_t>(doomed->Exec("SELECT pg_backend_pid()")->Int(0, 0));
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
    // The server accepts connections until it notices the crash; then it ends them, including the
    // witness.
    while (witness->Exec("SELECT 1").ok()) {
    }
    while (!Connection::Open(server_).ok()) {
    }
  }
  // Executes this number of other transactions.
  void Write(int transactions) const {
    const auto connection = *Connection::Open(server_);
    for (int i = 0; i < transactions; ++i) {
      EXPECT_TRUE(connection->ExecScript(absl::StrCat("CREATE TABLE other", i, " ()")).ok());
    }
  }

  const std::string server_ = TestServer::Get().MakeDatabase();
  CuttingProxy proxy_{server_};
  const std::unique_ptr<Store> store_ = *OpenPostgresStore(proxy_.database());
};

// Statements that are sent together as a pipeline.
TEST_F(UnknownCommitTest, AddsRecordsOnce) {
  ASSERT_TRUE(store_->audit().AddAudit({Record("one")}).ok());
  proxy_.Cut();
  EXPECT_TRUE(store_->audit().AddAudit({Record("two")}).ok());
  EXPECT_TRUE(proxy_.cut());
  EXPECT_TRUE(store_->audit().AddAudit({Record("three")}).ok());
  EXPECT_EQ(store_->audit().ListAudit({.limit = 10})->size(), 3u);
}

TEST_F(UnknownCommitTest, AddsRecordsOnce_OnNewConnection) {
  proxy_.Cut();
  EXPECT_TRUE(store_->audit().AddAudit({Record("one")}).ok());
  EXPECT_TRUE(proxy_.cut());
  EXPECT_EQ(store_->audit().ListAudit({.limit = 10})->size(), 1u);
}

TEST_F(UnknownCommitTest, AddsUnnumberedLinesOnce) {
  proxy_.Cut();
  EXPECT_TRUE(store_->AddLogLines({MakeLine("1.1", 0, "once")}).ok());
  EXPECT_TRUE(proxy_.cut());
  EXPECT_EQ(store_->ListLogs({.task = model::TaskId("1.1")})->size(), 1u);
}

// A transaction that reads its results. A second execution would report that the name is taken.
TEST_F(UnknownCommitTest, ReturnsResultOfCommittedWrite) {
  for (const char* name : {"on a new connection", "on an old one"}) {
    proxy_.Cut();
    const auto made = store_->workspaces().AddWorkspace(Named(name));
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_TRUE(proxy_.cut());
    EXPECT_EQ(made->name, name);
    EXPECT_EQ(store_->workspaces().GetWorkspace(made->id, {})->name, name);
  }
  EXPECT_EQ(store_->workspaces().ListWorkspaces({})->total, 3);
}

TEST_F(UnknownCommitTest, CommitsBatchOnce) {
  proxy_.Cut();
  const std::vector<cluster::Change> batch = {
      cluster::AddLogLine{MakeLine("1.1", 0, "of the master")}};
  EXPECT_TRUE(store_->Commit(2, batch).ok());
  EXPECT_TRUE(proxy_.cut());
  EXPECT_EQ(store_->ListLogs({.task = model::TaskId("1.1")})->size(), 1u);
}

TEST_F(UnknownCommitTest, RepeatsWriteThatNeverArrived) {
  proxy_.Cut(CuttingProxy::Moment::kBefore);
  EXPECT_TRUE(store_->audit().AddAudit({Record("one")}).ok());
  EXPECT_TRUE(proxy_.cut());
  EXPECT_EQ(store_->audit().ListAudit({.limit = 10})->size(), 1u);
  proxy_.Cut(CuttingProxy::Moment::kBefore);
  EXPECT_TRUE(store_->workspaces().AddWorkspace(Named("made now")).ok());
  EXPECT_TRUE(proxy_.cut());
  EXPECT_EQ(store_->workspaces().ListWorkspaces({})->total, 2);
}

TEST_F(UnknownCommitTest, WaitsForUnavailableServer) {
  for (const auto moment : {CuttingProxy::Moment::kBefore, CuttingProxy::Moment::kAfter}) {
    proxy_.Cut(moment, /*away=*/3);
    EXPECT_TRUE(store_->audit().AddAudit({Record("one")}).ok());
    EXPECT_TRUE(proxy_.cut());
  }
  EXPECT_EQ(store_->audit().ListAudit({.limit = 10})->size(), 2u);
}

// After the crash, transaction IDs are reused: this one's ID belongs to another transaction.
TEST_F(UnknownCommitTest, RepeatsWriteUndoneByCrash) {
  ASSERT_TRUE(store_->audit().AddAudit({Record("one")}).ok());
  const auto crash = [this] {
    Crash();
    Write(5);
  };
  proxy_.Cut(CuttingProxy::Moment::kBefore, 0, crash);
  EXPECT_TRUE(store_->audit().AddAudit({Record("two")}).ok());
  EXPECT_TRUE(proxy_.cut());
  EXPECT_EQ(store_->audit().ListAudit({.limit = 10})->size(), 2u);
  proxy_.Cut(CuttingProxy::Moment::kBefore, 0, [this] { Crash(); });
  EXPECT_TRUE(store_->workspaces().AddWorkspace(Named("made now")).ok());
  EXPECT_EQ(store_->workspaces().ListWorkspaces({})->total, 2);
}

TEST_F(UnknownCommitTest, FindsCommittedWriteAfterCrash) {
  proxy_.Cut(CuttingProxy::Moment::kAfter, 0, [this] { Crash(); });
  EXPECT_TRUE(store_->audit().AddAudit({Record("one")}).ok());
  EXPECT_TRUE(proxy_.cut());
  EXPECT_EQ(store_->audit().ListAudit({.limit = 10})->size(), 1u);
}

// A transaction that is still waiting when its outcome is queried is not committed later.
TEST_F(UnknownCommitTest, WaitsForWriteInProgress) {
  const auto holder = *Connection::Open(server_);
  const auto write_id = *holder->NextWriteId();
  ASSERT_TRUE(holder->ExecScript("BEGIN").ok());
  ASSERT_TRUE(holder->Exec(kRecordWriteId, MakeParams(write_id.writer, write_id.number)).ok());
  const auto asks = *Connection::Open(server_);
  EXPECT_EQ(WasCommitted(*asks, write_id).status().code(), absl::StatusCode::kUnavailable);
  ASSERT_TRUE(holder->ExecScript("COMMIT").ok());
  EXPECT_EQ(WasCommitted(*asks, write_id), absl::StatusOr<bool>(true));
  EXPECT_EQ(WasCommitted(*asks, write_id), absl::StatusOr<bool>(true));
  // After that, this writer ID cannot be used anymore.
  EXPECT_FALSE(holder->Exec(kRecordWriteId, MakeParams(write_id.writer, write_id.number + 1)).ok());
}

}  // namespace
}  // namespace det::store
