#include "master/core/searcher/preview.h"

#include "master/core/searcher/searcher.h"
#include "master/core/searcher/testing.h"
#include <gtest/gtest.h>

namespace det::searcher {
namespace {

using Rows = std::vector<PlannedTrials>;

Plan MakePlan(model::SearchMode mode, double divisor, int64_t length, int64_t trials) {
  model::ExperimentConfig config = TestConfig("adaptive_asha", length, trials, 16);
  config.searcher.mode = mode;
  config.searcher.divisor = divisor;
  return Searcher::Make(config)->Preview();
}

// Reference vectors of Determined.
TEST(PreviewTest, PreviewsAdaptiveAsha) {
  EXPECT_EQ(SumPlan(MakePlan(model::SearchMode::kStandard, 4, 937, 500)).rows,
            (Rows{{266, 3}, {149, 14}, {65, 58}, {16, 234}, {4, 937}}));
  EXPECT_EQ(SumPlan(MakePlan(model::SearchMode::kAggressive, 4, 937, 500)).rows,
            (Rows{{375, 3}, {94, 14}, {24, 58}, {6, 234}, {1, 937}}));
  EXPECT_EQ(SumPlan(MakePlan(model::SearchMode::kStandard, 4, 1000, 64)).rows,
            (Rows{{34, 15}, {20, 62}, {7, 250}, {3, 1000}}));
  EXPECT_EQ(SumPlan(MakePlan(model::SearchMode::kStandard, 4, 1, 10)).rows, (Rows{{10, 1}}));
}

TEST(PreviewTest, PromotesOneOfFewerThanDivisor) {
  EXPECT_EQ(SumPlan(MakePlan(model::SearchMode::kAggressive, 3, 9, 3)).rows,
            (Rows{{2, 3}, {1, 9}}));
}

TEST(PreviewTest, ReturnsOneRow_WithoutRungs) {
  EXPECT_EQ(SumPlan(Searcher::Make(TestConfig("random", 50, 7, 2))->Preview()).rows,
            (Rows{{7, 50}}));
  EXPECT_EQ(SumPlan(Searcher::Make(TestConfig("single", 50, 7, 2))->Preview()).rows,
            (Rows{{1, 50}}));
  model::ExperimentConfig grid = TestConfig("grid", 50, 1, 2);
  grid.hyperparameters = {{"n", {model::IntHparam{1, 5, {}}}}};
  EXPECT_EQ(SumPlan(Searcher::Make(grid)->Preview()).rows, (Rows{{5, 50}}));
}

TEST(PreviewTest, SumsBracketsByLength) {
  const PlanTotals totals = SumPlan({{{3, 10}, {1, 100}}, {{2, 5}, {4, 100}}, {{0, 7}}});
  EXPECT_EQ(totals.rows, (Rows{{2, 5}, {3, 10}, {5, 100}}));
  EXPECT_EQ(totals.trials, 10);
  EXPECT_EQ(totals.units, 540);
  EXPECT_TRUE(SumPlan({}).rows.empty());
}

}  // namespace
}  // namespace det::searcher
