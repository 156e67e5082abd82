#include "trial_api/cpp/torch/lr_schedule.h"

#include <string>
#include <vector>

#include "trial_api/cpp/core/error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::lr {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

std::vector<double> Of(const LrFactor& factor, const std::vector<int64_t>& steps,
                       int64_t max_steps = 100) {
  std::vector<double> factors;
  for (const int64_t step : steps) factors.push_back(factor(step, max_steps));
  return factors;
}

TEST(LrScheduleTest, ReturnsFactorsAtStartMiddleAndEnd) {
  EXPECT_THAT(Of(constant(), {0, 50, 100}), ElementsAre(1, 1, 1));
  EXPECT_THAT(Of(cosine(), {0, 50, 100}),
              Pointwise(DoubleNear(1e-12), std::vector<double>{1, 0.5, 0}));
  EXPECT_THAT(Of(cosine(0.1), {0, 50, 100}),
              Pointwise(DoubleNear(1e-12), std::vector<double>{1, 0.55, 0.1}));
  EXPECT_THAT(Of(polynomial(), {0, 25, 100}), ElementsAre(1, 0.75, 0));
  EXPECT_THAT(Of(polynomial(2, 0.2), {0, 50, 100}),
              Pointwise(DoubleNear(1e-12), std::vector<double>{1, 0.4, 0.2}));
  EXPECT_THAT(Of(stairs(10, 0.5), {0, 9, 10, 29}), ElementsAre(1, 1, 0.5, 0.25));
  EXPECT_THAT(Of(exponential(0.5), {0, 1, 3}), ElementsAre(1, 0.5, 0.125));
  EXPECT_THAT(Of(scaled(4, exponential(0.5)), {0, 1}), ElementsAre(4, 2));
}

TEST(LrScheduleTest, ScheduleAfterWarmupStartsAtItsEnd) {
  EXPECT_THAT(Of(warmup(4), {0, 1, 3, 4, 99}), ElementsAre(0.25, 0.5, 1, 1, 1));
  EXPECT_THAT(Of(warmup(2, constant(), 0.5), {0, 1, 2}), ElementsAre(0.75, 1, 1));
  EXPECT_THAT(Of(warmup(50, polynomial()), {49, 50, 75, 100}), ElementsAre(1, 1, 0.5, 0));
}

TEST(LrScheduleTest, ReturnsFinalFactor_WhenTrainingIsEmptyOrTooLong) {
  EXPECT_EQ(cosine(0.25)(0, 0), 0.25);
  EXPECT_EQ(polynomial()(120, 100), 0.0);
  EXPECT_EQ(warmup(200, polynomial())(200, 100), 0.0);
}

TEST(LrScheduleTest, ScalesWithBatchSize) {
  EXPECT_EQ(linear_scaling(1024, 256), 4.0);
  EXPECT_EQ(square_root_scaling(1024, 256), 2.0);
}

TEST(LrScheduleTest, ErrorNamesInvalidArgument) {
  const auto observed = [](auto make) -> std::string {
    try {
      make();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(observed([] { warmup(0); }), "lr::warmup(): steps is 0: must be at least 1");
  EXPECT_EQ(observed([] { stairs(5, -1); }), "lr::stairs(): gamma is -1.000000: must be above 0");
  EXPECT_EQ(observed([] { linear_scaling(8, 0); }),
            "lr::linear_scaling(): reference is 0: must be at least 1");
}

}  // namespace
}  // namespace det::lr
