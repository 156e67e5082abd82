#include "trial_api/cpp/torch/optimizations.h"

#include <string>
#include <utility>

#include "trial_api/cpp/core/error.h"
#include <gtest/gtest.h>

namespace det::trial {
namespace {

TEST(OptimizationsTest, AbsentFieldsKeepTheirDefaults) {
  for (const char* config : {"{}", R"({"optimizations": null})", R"({"optimizations": {}})",
                             R"({"optimizations": {"aggregation_frequency": null}})"}) {
    const Optimizations read = ParseOptimizations(config);
    EXPECT_EQ(read.aggregation_frequency, 1) << config;
    EXPECT_TRUE(read.average_aggregated_gradients) << config;
  }
}

TEST(OptimizationsTest, ReadsItsFieldsAmongOthers) {
  const Optimizations read = ParseOptimizations(
      R"({"name": "x", "optimizations": {"aggregation_frequency": 4, "mixed_precision": "O0",
          "average_aggregated_gradients": false}})");
  EXPECT_EQ(read.aggregation_frequency, 4);
  EXPECT_FALSE(read.average_aggregated_gradients);
}

TEST(OptimizationsTest, NamesTheFieldThatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "configuration: not a JSON object"},
      {R"({"optimizations": 3})", "configuration: optimizations is 3, not a map"},
      {R"({"optimizations": {"aggregation_frequency": 0}})",
       "configuration: optimizations.aggregation_frequency is 0, not an integer >= 1"},
      {R"({"optimizations": {"average_aggregated_gradients": 1}})",
       "configuration: optimizations.average_aggregated_gradients is 1, not true or false"},
  };
  for (const auto& [config, message] : cases) {
    try {
      ParseOptimizations(config);
      ADD_FAILURE() << config << " was accepted";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), message);
    }
  }
}

}  // namespace
}  // namespace det::trial
