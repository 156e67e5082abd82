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
    EXPECT_EQ(read.strategy, Optimizations::Strategy::kAllReduce) << config;
    EXPECT_EQ(read.local_sgd_steps, 8) << config;
    EXPECT_EQ(read.gradient_compression, Optimizations::Compression::kNone) << config;
    EXPECT_EQ(read.mixed_precision, Optimizations::Precision::kAsIs) << config;
    EXPECT_FALSE(read.bucket_bytes || read.shard_optimizer || read.hierarchical_allreduce ||
                 read.auto_tune_tensor_fusion)
        << config;
  }
}

TEST(OptimizationsTest, ReadsFieldsOfSection) {
  const Optimizations read = ParseOptimizations(
      R"({"name": "x", "optimizations": {"aggregation_frequency": 4, "mixed_precision": "O0",
          "average_aggregated_gradients": false}})");
  EXPECT_EQ(read.aggregation_frequency, 4);
  EXPECT_FALSE(read.average_aggregated_gradients);
}

TEST(OptimizationsTest, ReadsStrategy) {
  const auto read = [](const std::string& section) {
    return ParseOptimizations(R"({"optimizations": {)" + section + "}}");
  };
  using O = Optimizations;
  EXPECT_EQ(read(R"("strategy": "async", "local_sgd_steps": 3)").strategy, O::Strategy::kAsync);
  EXPECT_EQ(read(R"("strategy": "async", "local_sgd_steps": 3)").local_sgd_steps, 3);
  EXPECT_EQ(read(R"("gradient_compression": true)").gradient_compression, O::Compression::kFloat16);
  EXPECT_EQ(read(R"("gradient_compression": false)").gradient_compression, O::Compression::kNone);
  EXPECT_EQ(read(R"("gradient_compression": "int8")").gradient_compression, O::Compression::kInt8);
  EXPECT_EQ(read(R"("mixed_precision": "O2")").mixed_precision, O::Precision::kOfDevice);
  EXPECT_EQ(read(R"("mixed_precision": "bfloat16")").mixed_precision, O::Precision::kBFloat16);
  EXPECT_TRUE(read(R"("shard_optimizer": true)").shard_optimizer);
  EXPECT_TRUE(read(R"("hierarchical_allreduce": true)").hierarchical_allreduce);
  EXPECT_TRUE(read(R"("auto_tune_tensor_fusion": true)").auto_tune_tensor_fusion);
}

TEST(OptimizationsTest, ConvertsFusionThresholdToBytes) {
  const std::pair<int64_t, std::optional<int64_t>> cases[] = {{64, std::nullopt},
                                                              {0, int64_t{1} << 20},
                                                              {3, int64_t{3} << 20},
                                                              {int64_t{1} << 50, int64_t{1} << 40}};
  for (const auto& [megabytes, bytes] : cases) {
    EXPECT_EQ(ParseOptimizations(R"({"optimizations": {"tensor_fusion_threshold": )" +
                                 std::to_string(megabytes) + "}}")
                  .bucket_bytes,
              bytes)
        << megabytes;
  }
}

TEST(OptimizationsTest, ErrorNamesInvalidField) {
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "configuration: not a JSON object"},
      {R"({"optimizations": 3})", "configuration: optimizations is 3, not a map"},
      {R"({"optimizations": {"aggregation_frequency": 0}})",
       "configuration: optimizations.aggregation_frequency is 0, not an integer >= 1"},
      {R"({"optimizations": {"average_aggregated_gradients": 1}})",
       "configuration: optimizations.average_aggregated_gradients is 1, not true or false"},
      {R"({"optimizations": {"strategy": "fsdp"}})",
       "configuration: optimizations.strategy is \"fsdp\", not one of allreduce, local_sgd, async, "
       "parameter_server, pipeline, in_process"},
      {R"({"optimizations": {"local_sgd_steps": 0}})",
       "configuration: optimizations.local_sgd_steps is 0, not an integer >= 1"},
      {R"({"optimizations": {"gradient_compression": "zip"}})",
       "configuration: optimizations.gradient_compression is \"zip\", not one of none, float16, "
       "bfloat16, int8"},
      {R"({"optimizations": {"mixed_precision": 1}})",
       "configuration: optimizations.mixed_precision is 1, not one of O0, O1, O2, O3, float16, "
       "bfloat16"},
      {R"({"optimizations": {"tensor_fusion_threshold": -1}})",
       "configuration: optimizations.tensor_fusion_threshold is -1, not an integer >= 0"},
      {R"({"optimizations": {"strategy": "async", "gradient_compression": true}})",
       "configuration: optimizations.gradient_compression requires the strategy allreduce, not "
       "async"},
      {R"({"optimizations": {"auto_tune_tensor_fusion": true, "gradient_compression": "int8"}})",
       "configuration: optimizations.auto_tune_tensor_fusion changes the buckets, to which the "
       "scales of int8 gradients belong; set gradient_compression to float16, bfloat16 or none"},
      {R"({"optimizations": {"strategy": "local_sgd", "shard_optimizer": true}})",
       "configuration: optimizations.shard_optimizer requires the strategy allreduce, not "
       "local_sgd"},
      {R"({"optimizations": {"strategy": "parameter_server", "hierarchical_allreduce": true}})",
       "configuration: optimizations.hierarchical_allreduce requires the strategy allreduce, not "
       "parameter_server"},
      {R"({"optimizations": {"strategy": "async", "auto_tune_tensor_fusion": true}})",
       "configuration: optimizations.auto_tune_tensor_fusion requires the strategy allreduce, not "
       "async"},
      {R"({"optimizations": {"gradient_compression": "int8", "hierarchical_allreduce": true}})",
       "configuration: optimizations.hierarchical_allreduce cannot sum int8 gradients, which have "
       "different scales; set gradient_compression to float16, bfloat16 or none"},
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
