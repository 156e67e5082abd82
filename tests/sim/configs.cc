#include "tests/sim/configs.h"

#include <optional>
#include <utility>

#include "base/rng.h"

namespace det::sim {

std::shared_ptr<const model::ExperimentConfig> MakeConfig(Stage& stage) {
  auto config = std::make_shared<model::ExperimentConfig>();
  config->name = "sim";
  config->entrypoint = "train";
  config->checkpoint_storage.host_path = "/checkpoints";
  config->searcher.metric = "loss";
  const char* const kSearches[] = {"single", "random", "custom", "custom"};
  config->searcher.name = kSearches[stage.Pick(0, 3)];
  if (config->searcher.name != "single") {
    config->searcher.max_trials = stage.Pick(1, 4);
    config->searcher.max_concurrent_trials = stage.Pick(0, 3);
    config->hyperparameters["lr"] = {model::DoubleHparam{0, 1, std::nullopt}};
  }
  config->experiment_seed = static_cast<uint32_t>(stage.Pick(0, 1'000'000));
  config->resources.slots_per_trial = static_cast<int>(stage.Pick(1, 4));
  if (stage.Chance(0.2)) config->resources.max_slots_per_trial = 4;
  if (stage.Chance(0.1)) config->resources.slots_per_trial = 0;
  if (stage.Chance(0.5)) config->resources.priority = static_cast<int>(stage.Pick(1, 99));
  if (stage.Chance(0.1)) config->resources.max_run_time = stage.Pick(5, 60);
  config->workspace = stage.Chance(0.5) ? "vision" : "speech";
  config->project = "p";
  config->max_restarts = static_cast<int>(stage.Pick(0, 3));
  config->preemption_timeout_seconds = stage.Pick(1, 30);
  return config;
}

experiment::Task MakeTask(Stage& stage) {
  auto definition = std::make_shared<model::TaskDefinition>();
  definition->description = "task";
  definition->argv = {"run"};
  definition->resources.slots_per_trial = static_cast<int>(stage.Pick(0, 2));
  if (stage.Chance(0.5)) definition->resources.priority = static_cast<int>(stage.Pick(1, 99));
  if (stage.Chance(0.2)) definition->resources.max_run_time = stage.Pick(5, 60);
  definition->preemptible = stage.Chance(0.4);
  definition->preemption_timeout_seconds = stage.Pick(0, 20);
  experiment::Task task;
  const model::TaskKind kKinds[] = {model::TaskKind::kCommand, model::TaskKind::kNotebook,
                                    model::TaskKind::kGeneric};
  task.kind = kKinds[stage.Pick(0, 2)];
  task.pausable = task.kind == model::TaskKind::kGeneric;
  task.owner_name = "alice";
  task.workspace_name = "Uncategorized";
  task.definition = std::move(definition);
  return task;
}

std::shared_ptr<const model::ExperimentConfig> MakeRepeatableConfig(uint64_t seed) {
  base::Rng rng(seed);
  auto config = std::make_shared<model::ExperimentConfig>();
  config->name = "sim";
  config->entrypoint = "train";
  config->checkpoint_storage.host_path = "/checkpoints";
  model::SearcherConfig& search = config->searcher;
  const char* const kSearches[] = {"random", "random", "asha", "asha", "adaptive_asha"};
  search.name = kSearches[rng.UniformInt(0, 4)];
  search.metric = "loss";
  search.sampler = rng.UniformInt(0, 1) == 0 ? "tpe" : "random";
  search.max_length = model::Length{model::Length::Unit::kBatches, rng.UniformInt(4, 8)};
  search.max_trials = rng.UniformInt(2, 6);
  search.max_concurrent_trials = 1;
  search.divisor = 2;
  search.stop_once = rng.UniformInt(0, 1) == 0;
  config->hyperparameters["lr"] = {model::DoubleHparam{0, 1, std::nullopt}};
  config->experiment_seed = static_cast<uint32_t>(rng.UniformInt(0, 1'000'000));
  config->resources.slots_per_trial = static_cast<int>(rng.UniformInt(1, 4));
  config->workspace = config->project = "Uncategorized";
  config->max_restarts = 1'000;
  config->preemption_timeout_seconds = rng.UniformInt(1, 30);
  return config;
}

}  // namespace det::sim
