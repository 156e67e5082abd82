// Tests metric summaries in a database of an older version without them: they are computed in
// portions while trials report.
#include "master/store/postgres/summary_backfill.h"

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "master/store/postgres/connection.h"
#include "master/store/postgres/fence.h"
#include "master/store/postgres/migrations.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/pool.h"
#include "master/store/postgres/postgres_store.h"
#include "master/store/postgres/testing/test_server.h"
#include "master/store/testing/make_rows.h"
#include <gtest/gtest.h>

namespace det::store {
namespace {

constexpr int kBefore = 12;  // the last migration without summaries

class SummaryBackfillTest : public ::testing::Test {
 protected:
  // Stores trials 1 to 3, each with two reports, and then migrates as a newer master does.
  void SetUp() override {
    const std::vector<Migration> old(AllMigrations().begin(), AllMigrations().begin() + kBefore);
    ASSERT_TRUE(Migrate(*connection_, old).ok());
    const absl::Status made =
        connection_
            ->Exec(
                "INSERT INTO experiments (id, name, job, owner, request_id, config, "
                "original_config, context_hash, state, reason, progress, created_at, "
                "owner_name, resource_pool, priority, weight, position, position_set) "
                "VALUES (1, 'old', 'exp-1', 1, '', $1, '', '', 'COMPLETED', '', 0, now(), "
                "'', 'default', 42, 1, 0, false)",
                MakeParams(model::ToValue(*MakeConfig("old"))))
            .status();
    ASSERT_TRUE(made.ok()) << made;
    for (int trial = 1; trial <= 3; ++trial) {
      const absl::Status inserted = connection_->ExecScript(absl::StrCat(
          "INSERT INTO trials (id, experiment, request, task, seed, hparams, state, reason, "
          "restarts, run_id, steps_completed, progress, runner_state, best_steps, created_at) "
          "VALUES (",
          trial, ", 1, '1', '1.", trial,
          "', 1, '{}', 'RUNNING', '', 0, 0, 0, 0, '', 0, now());"
          "INSERT INTO metrics (trial, group_name, steps, run_id, time, metrics) VALUES (",
          trial, ", 'training', 1, 0, now(), '{\"accuracy\": 1}'), (", trial,
          ", 'training', 2, 0, now(), '{\"accuracy\": 3}')"));
      ASSERT_TRUE(inserted.ok()) << inserted;
    }
    auto store = OpenPostgresStore(database_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  MetricSummary Of(size_t trial) {
    const auto page = store_->runs().SearchRuns({.search = *Oldest()});
    EXPECT_TRUE(page.ok()) << page.status();
    return page->runs.at(trial - 1).metrics.at({"training", "accuracy"});
  }
  static absl::StatusOr<Search> Oldest() { return ParseSearch(Table::kRuns, "", "id=asc"); }
  int64_t Rows() { return connection_->Exec("SELECT count(*) FROM metric_summaries")->Int(0, 0); }

  const std::string database_ = TestServer::Get().MakeDatabase();
  const std::unique_ptr<Connection> connection_ = *Connection::Open(database_);
  std::unique_ptr<Store> store_;  // not loaded, so that it starts no backfill
  Pool pool_{database_, 1};
  Fence fence_;
};

TEST_F(SummaryBackfillTest, ReadsWithoutSummariesAfterMigration) {
  EXPECT_EQ(Rows(), 0);
  EXPECT_EQ(Of(1), MakeSummary(2, 4, 1, 3, 3));
}

TEST_F(SummaryBackfillTest, BackfillsNewestFirstInPortions) {
  EXPECT_FALSE(*BackfillSummaries(pool_, fence_, 2));
  EXPECT_EQ(connection_->Exec("SELECT min(trial) FROM metric_summaries")->Int(0, 0), 2);
  EXPECT_TRUE(*BackfillSummaries(pool_, fence_, 2));
  EXPECT_EQ(Rows(), 3);
  EXPECT_EQ(Of(1), MakeSummary(2, 4, 1, 3, 3));
  EXPECT_TRUE(*BackfillSummaries(pool_, fence_, 2));
}

TEST_F(SummaryBackfillTest, CountsReportsOnce) {
  ASSERT_TRUE(
      store_->AddMetrics({MakeReport(1, "training", 3, 5), MakeReport(2, "training", 3, 5)}).ok());
  EXPECT_EQ(Of(1), MakeSummary(3, 9, 1, 5, 5));
  EXPECT_TRUE(*BackfillSummaries(pool_, fence_, 10));
  ASSERT_TRUE(store_->AddMetrics({MakeReport(1, "training", 4, 7)}).ok());
  EXPECT_EQ(Of(1), MakeSummary(4, 16, 1, 7, 7));
  EXPECT_EQ(Of(2), MakeSummary(3, 9, 1, 5, 5));
}

TEST_F(SummaryBackfillTest, BackfillsInBackground) {
  ASSERT_TRUE(store_->Load().ok());
  while (Rows() < 3) std::this_thread::yield();
  EXPECT_EQ(Of(1), MakeSummary(2, 4, 1, 3, 3));
}

// A report that is stored but not committed yet is waited for and counted.
TEST_F(SummaryBackfillTest, WaitsForReportInProgress) {
  ASSERT_TRUE(
      connection_
          ->ExecScript("BEGIN; INSERT INTO metrics (trial, group_name, steps, run_id, time, "
                       "metrics) VALUES (1, 'training', 3, 0, now(), '{\"accuracy\": 5}')")
          .ok());
  const auto looker = *Connection::Open(database_);
  absl::StatusOr<bool> all;
  std::thread sums([&] { all = BackfillSummaries(pool_, fence_, 10); });
  // There is no notification of locks, so this polls.
  while (looker->Exec("SELECT FROM pg_locks WHERE NOT granted")->rows() == 0) {
    std::this_thread::yield();
  }
  ASSERT_TRUE(connection_->ExecScript("COMMIT").ok());
  sums.join();
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(Of(1), MakeSummary(3, 9, 1, 5, 5));
}

}  // namespace
}  // namespace det::store
