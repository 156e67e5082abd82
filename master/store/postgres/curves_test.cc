// Tests curves with many reports, which are downsampled.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "master/store/postgres/connection.h"
#include "master/store/postgres/postgres_store.h"
#include "master/store/postgres/testing/test_server.h"
#include "master/store/testing/make_rows.h"
#include <gtest/gtest.h>

namespace det::store {
namespace {

constexpr int kReports = 40000;  // at steps 10, 20, ...
constexpr int64_t kHigh = 123450, kLow = 371230;

class CurvesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto store = OpenPostgresStore(database_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    ASSERT_TRUE(store_->Load().ok());
    // Peaks are computed in between, and updated after that.
    for (int first = 1; first <= kReports; first += 4000) {
      std::vector<model::MetricReport> reports;
      for (int i = first; i < first + 4000; ++i) {
        const int64_t steps = i * 10;
        const double value = steps == kHigh ? 100 : steps == kLow ? -100 : i % 7;
        reports.push_back(MakeReport(1, "training", steps, value));
      }
      ASSERT_TRUE(store_->AddMetrics(reports).ok());
    }
  }
  std::vector<int64_t> Steps(const CurveQuery& query) {
    const auto curves = store_->runs().ReadCurves(query);
    EXPECT_TRUE(curves.ok()) << curves.status();
    std::vector<int64_t> steps;
    if (!curves.ok() || !curves->contains(model::TrialId(1))) return steps;
    for (const model::MetricReport& report : curves->at(model::TrialId(1))) {
      steps.push_back(report.steps_completed);
    }
    EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end()));
    return steps;
  }
  void CheckWhole(const std::vector<int64_t>& steps) {
    EXPECT_LE(steps.size(), 1000u);
    EXPECT_GE(steps.size(), 300u);
    EXPECT_EQ(steps.front(), 10);
    EXPECT_EQ(steps.back(), kReports * 10);
    for (const int64_t peak : {kHigh, kLow}) {
      EXPECT_TRUE(std::binary_search(steps.begin(), steps.end(), peak)) << peak;
    }
  }
  const CurveQuery whole_{.trials = {model::TrialId(1)}, .group = "training", .max_reports = 1000};
  const std::string database_ = TestServer::Get().MakeDatabase();
  std::unique_ptr<Store> store_;
};

TEST_F(CurvesTest, KeepsEndsAndPeaks) {
  CheckWhole(Steps(whole_));
  CurveQuery few = whole_;
  few.max_reports = 20;
  const std::vector<int64_t> steps = Steps(few);
  EXPECT_LE(steps.size(), 20u);
  for (const int64_t peak : {kHigh, kLow}) {
    EXPECT_TRUE(std::binary_search(steps.begin(), steps.end(), peak)) << peak;
  }
}

TEST_F(CurvesTest, ReadsShortPartWhole) {
  CurveQuery part = whole_;
  part.first_steps = 5000;
  part.last_steps = 5990;
  EXPECT_EQ(Steps(part).size(), 100u);
  part.last_steps = 390000;
  const std::vector<int64_t> steps = Steps(part);
  EXPECT_LE(steps.size(), 1000u);
  EXPECT_EQ(steps.front(), 5000);
  EXPECT_EQ(steps.back(), 390000);
}

TEST_F(CurvesTest, UsesNewestAttemptOfStep) {
  std::vector<model::MetricReport> reports;
  for (int run = 2; run >= 0; --run) {
    for (const int64_t steps : {1, 2}) {
      reports.push_back(
          MakeReport(1, "validation", steps, 10.0 * run + static_cast<double>(steps)));
      reports.back().run_id = run;
    }
  }
  ASSERT_TRUE(store_->AddMetrics(reports).ok());
  CurveQuery again = whole_;
  again.group = "validation";
  const auto curves = store_->runs().ReadCurves(again);
  ASSERT_TRUE(curves.ok()) << curves.status();
  const auto& curve = curves->at(model::TrialId(1));
  ASSERT_EQ(curve.size(), 2u);
  for (const size_t i : {0u, 1u}) {
    EXPECT_EQ(curve[i].run_id, 2);
    EXPECT_EQ(curve[i].steps_completed, static_cast<int64_t>(i) + 1);
  }
}

TEST_F(CurvesTest, ReadsLongAndShortCurvesTogether) {
  // Trial 2 has more reports than are read for every trial, but few enough to be read unsampled; 30
  // other trials are short.
  std::vector<model::MetricReport> reports;
  for (int i = 1; i <= 2000; ++i) reports.push_back(MakeReport(2, "training", i, i));
  CurveQuery all = whole_;
  all.trials.emplace_back(2);
  for (int trial = 3; trial <= 32; ++trial) {
    reports.push_back(MakeReport(trial, "training", 7, trial));
    all.trials.emplace_back(trial);
  }
  ASSERT_TRUE(store_->AddMetrics(reports).ok());
  CheckWhole(Steps(all));
  const auto curves = store_->runs().ReadCurves(all);
  ASSERT_TRUE(curves.ok()) << curves.status();
  EXPECT_EQ(curves->size(), 32u);
  EXPECT_EQ(curves->at(model::TrialId(2)).size(), 2000u);
  EXPECT_EQ(curves->at(model::TrialId(32)).size(), 1u);
}

TEST_F(CurvesTest, KeepsFirstOfEqualPeaks) {
  const auto connection = Connection::Open(database_);
  ASSERT_TRUE(connection.ok());
  const auto steps = (*connection)
                         ->Exec(
                             "SELECT array_agg(s ORDER BY s) FROM "
                             "curve_steps(1, 'training', 'accuracy', 0, 100000, 1) s",
                             {});
  ASSERT_TRUE(steps.ok()) << steps.status();
  EXPECT_EQ(steps->Text(0, 0), "{10,60,70,100000}");
}

TEST_F(CurvesTest, ComputesPeaksOfOldTrialsOnRead) {
  const auto connection = Connection::Open(database_);
  ASSERT_TRUE(connection.ok());
  ASSERT_TRUE((*connection)
                  ->ExecScript("DELETE FROM metric_peaks; UPDATE metric_summaries SET portion = 0")
                  .ok());
  CheckWhole(Steps(whole_));
  CheckWhole(Steps(whole_));
}

}  // namespace
}  // namespace det::store
