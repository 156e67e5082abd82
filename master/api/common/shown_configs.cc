#include "master/api/common/shown_configs.h"

#include <functional>
#include <optional>
#include <utility>

#include "base/generation_cache.h"
#include "master/api/common/convert.h"
#include "proto/json_writer.h"

namespace det::api {
namespace {

constexpr size_t kCacheBytes = size_t{8} << 20;

// What a shown configuration is made of. The store returns the same object as long as the
// configuration does not change; holding it keeps its address from being used by another.
struct Key {
  std::shared_ptr<const model::ExperimentConfig> config;
  int priority = 0;
  double weight = 0;
  std::string resource_pool;
  std::optional<int> max_slots;
  std::optional<int> log_days;
  std::string original;
  friend bool operator==(const Key&, const Key&) = default;
};

struct HashKey {
  size_t operator()(const Key& key) const { return std::hash<const void*>()(key.config.get()); }
};

std::shared_ptr<const std::string> ToJson(const model::Value& value) {
  // A Struct of a configuration always has a JSON form.
  return std::make_shared<const std::string>(proto::WriteJson(ToStruct(value)).value_or("{}"));
}

}  // namespace

std::string GetShownOriginal(const experiment::Experiment& experiment, const model::Value& config) {
  return model::HasSecrets(*experiment.config) ? config.ToJson() : experiment.original_config;
}

std::shared_ptr<const ShownConfig> WriteShownConfig(const store::ExperimentRecord& record) {
  static auto& cache =
      *new base::GenerationCache<Key, std::shared_ptr<const ShownConfig>, HashKey>(kCacheBytes);
  const experiment::Experiment& experiment = record.experiment;
  const experiment::QueuePlace& queue = experiment.queue;
  Key key{experiment.config,         queue.priority,  queue.weight,
          queue.resource_pool,       queue.max_slots, record.log_days,
          experiment.original_config};
  if (auto known = cache.Find(key)) return *std::move(known);
  const model::Value config = ToShownConfig(record);
  auto shown = std::make_shared<ShownConfig>();
  shown->config = ToJson(config);
  const model::Value* const hyperparameters = config.Find("hyperparameters");
  shown->hyperparameters =
      hyperparameters == nullptr ? ToJson(model::Value::Object()) : ToJson(*hyperparameters);
  shown->original = GetShownOriginal(experiment, config);
  const size_t size = shown->config->size() + shown->hyperparameters->size() +
                      2 * shown->original.size() + sizeof(ShownConfig);
  cache.Keep(std::move(key), shown, size);
  return shown;
}

}  // namespace det::api
