// What ToValue writes is what parse reads.
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "master/parse/parse.h"
#include <gtest/gtest.h>

namespace det::model {
namespace {

Value RandomScalar(base::Rng& rng) {
  switch (rng.UniformInt(0, 4)) {
    case 0:
      return Value();
    case 1:
      return rng.UniformInt(0, 1) == 1;
    case 2:
      return static_cast<int64_t>(rng.Next());
    case 3:
      return rng.Normal();
    default:
      return absl::StrCat("text ", rng.UniformInt(0, 9));
  }
}

Hyperparameter RandomHparam(base::Rng& rng, int depth) {
  const int64_t low = rng.UniformInt(-5, 5);
  std::optional<int64_t> count;
  if (rng.UniformInt(0, 1) == 0) count = rng.UniformInt(1, 9);
  switch (rng.UniformInt(0, depth > 0 ? 5 : 4)) {
    case 0:
      return {ConstHparam{rng.UniformInt(0, 1) == 0
                              ? RandomScalar(rng)
                              : Value(Value::Object{{"type", RandomScalar(rng)}})}};
    case 1:
      return {IntHparam{low, low + rng.UniformInt(0, 9), count}};
    case 2:
      return {DoubleHparam{rng.Uniform01(), 1 + rng.Uniform01(), count}};
    case 3:
      return {LogHparam{rng.Uniform01() + 0.1, -4, rng.Uniform01(), count}};
    case 4:
      return {CategoricalHparam{{RandomScalar(rng), Value::List{RandomScalar(rng)}}}};
    default: {
      NestedHparam nested;
      for (int64_t i = rng.UniformInt(0, 3); i > 0; --i) {
        nested.members.emplace(absl::StrCat("h", i), RandomHparam(rng, depth - 1));
      }
      return {nested};
    }
  }
}

Length RandomLength(base::Rng& rng, int64_t min) {
  return {static_cast<Length::Unit>(rng.UniformInt(0, 2)), rng.UniformInt(min, 1'000'000'000'000)};
}

ExperimentConfig RandomConfig(base::Rng& rng) {
  const auto coin = [&rng] { return rng.UniformInt(0, 1) == 1; };
  ExperimentConfig c;
  c.name = absl::StrCat("ä\n\"", rng.UniformInt(0, 99));
  c.description = coin() ? "" : "yes";
  if (coin()) c.labels = {"1", "true", ""};
  if (coin()) c.data = Value::Object{{"x", RandomScalar(rng)}, {"l", Value::List{}}};
  if (coin()) c.workspace = "w", c.project = "p";
  if (coin()) {
    c.entrypoint = "net.cc:Trial";
  } else {
    c.entrypoint = std::vector<std::string>{"sh", "-c", ""};
  }
  for (int64_t i = rng.UniformInt(0, 5); i > 0; --i) {
    c.hyperparameters.emplace(absl::StrCat("p", i), RandomHparam(rng, 3));
  }
  c.searcher = {.name = coin() ? "single" : "random", .metric = "m", .smaller_is_better = coin()};
  const bool is_class = std::holds_alternative<std::string>(c.entrypoint);
  if (is_class || coin()) c.searcher.max_length = RandomLength(rng, 1);
  if (c.searcher.name == "random") {
    c.searcher.max_trials = rng.UniformInt(1, 1'000'000);
    c.searcher.max_concurrent_trials = rng.UniformInt(0, 1'000'000);
  }
  c.resources.slots_per_trial = static_cast<int>(rng.UniformInt(0, 2147483647));
  if (coin()) c.resources.max_slots = 2147483647;
  if (coin()) {
    c.resources.slots_per_trial = static_cast<int>(rng.UniformInt(1, 1'000));
    c.resources.max_slots_per_trial = static_cast<int>(rng.UniformInt(1'001, 2147483647));
  } else if (coin()) {
    c.resources.slots_per_trial = 1;
    c.resources.slot_fraction = 0.01 + 0.98 * rng.Uniform01();
  }
  if (coin()) c.resources.cpus = rng.Uniform01();
  if (coin()) c.resources.memory = rng.UniformInt(0, int64_t{1} << 50);
  if (coin() && c.resources.slots_per_trial > 0) {
    c.resources.slot_type = static_cast<DeviceType>(rng.UniformInt(0, 3));
    c.resources.device = "H200";
  }
  if (coin()) c.resources.max_run_time = rng.UniformInt(1, 2147483647);
  if (coin()) c.resources.blocked_agents = {"a", "b"};
  c.resources.weight = 0.1 + rng.Uniform01();
  if (coin()) c.resources.priority = static_cast<int>(rng.UniformInt(1, 99));
  c.resources.is_single_node = coin();
  c.max_restarts = static_cast<int>(rng.UniformInt(0, 9));
  c.min_validation_period = RandomLength(rng, 0);
  c.min_checkpoint_period = RandomLength(rng, 0);
  c.checkpoint_policy = static_cast<CheckpointPolicy>(rng.UniformInt(0, 2));
  c.records_per_epoch = rng.UniformInt(0, INT64_MAX);
  c.scheduling_unit = rng.UniformInt(1, INT64_MAX);
  c.checkpoint_storage.host_path = "/nfs";
  if (coin()) c.checkpoint_storage.storage_path = "a/b";
  if (coin()) c.environment.variables.cuda = {"A=1", "B="};
  if (coin()) c.environment.image = {"a", "b", ""};
  if (coin()) c.environment.proxy_ports.resize(2, {.proxy_port = 80, .proxy_tcp = true});
  if (coin()) c.environment.registry_auth.password = "secret";
  if (coin()) c.resources.shm_size = int64_t{4} << 30;
  if (coin()) c.resources.devices.resize(1, {"/a", "/b", "r"});
  if (coin()) c.bind_mounts.resize(1, {"/a", "/a", true, "shared"});
  if (coin()) c.log_policies.push_back({"mine", "p", "exclude_node"});
  if (coin()) c.log_retention_days = -1;
  if (coin()) c.profiling = {true, 3, 5, false};
  if (coin()) c.optimizations.mixed_precision = "O2";
  if (coin()) {
    c.optimizations.strategy = "local_sgd";
  } else {  // They go with allreduce alone.
    if (coin()) c.optimizations.gradient_compression = "int8";
    if (coin()) c.optimizations.shard_optimizer = true;
    if (c.optimizations.gradient_compression != "int8") {
      if (coin()) c.optimizations.hierarchical_allreduce = true;
      if (coin()) c.optimizations.auto_tune_tensor_fusion = true;
    }
  }
  if (coin()) c.optimizations.local_sgd_steps = 3;
  if (coin()) c.optimizations.pipeline_micro_batches = 2;
  if (coin()) c.slurm = {2, "a100", {"-x"}};
  if (coin()) c.pbs = {3, "", {"-y"}};
  if (coin()) c.integrations.webhooks = {{1, 2}, {"n"}, true};
  if (coin()) c.integrations.pachyderm.proxy_port = 99;
  c.experiment_seed = static_cast<uint32_t>(rng.Next());
  c.debug = coin();
  return c;
}

TEST(JsonTest, RoundTripsThroughJson) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    base::Rng rng(seed);
    const ExperimentConfig config = RandomConfig(rng);
    const std::string json = ToValue(config).ToJson();
    const auto again = ExperimentConfigFromJson(json);
    ASSERT_TRUE(again.ok()) << "seed " << seed << ": " << again.status() << "\n" << json;
    ASSERT_EQ(*again, config) << "seed " << seed << ": " << json;
    // The same for ParseExperimentConfig.
    const auto yaml = ParseExperimentConfig(json, "c.json", {}, {});
    ASSERT_TRUE(yaml.ok()) << "seed " << seed << ": " << yaml.status() << "\n" << json;
    ASSERT_EQ(*yaml, config) << "seed " << seed << ": " << json;
  }
}

TEST(JsonTest, RejectsInvalidConfigurations) {
  EXPECT_FALSE(ExperimentConfigFromJson("").ok());
  EXPECT_FALSE(ExperimentConfigFromJson("[]").ok());
  EXPECT_FALSE(ExperimentConfigFromJson("{}").ok());
}

}  // namespace
}  // namespace det::model
