#include "master/model/experiment_config.h"

#include <utility>

namespace det::model {
namespace {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

template <class T>
Value ToValue(const std::optional<T>& value) {
  if (!value) return Value();
  if constexpr (std::is_same_v<T, Length>) {
    return ToValue(*value);
  } else {
    return Value(*value);
  }
}

Value StringOrNull(const std::string& text) { return text.empty() ? Value() : Value(text); }

Value ToValue(const std::vector<std::string>& texts) {
  return Value::List(texts.begin(), texts.end());
}

Value ToValue(const Entrypoint& entrypoint) {
  if (const auto* text = std::get_if<std::string>(&entrypoint)) return *text;
  return ToValue(std::get<std::vector<std::string>>(entrypoint));
}

const char* ToText(CheckpointPolicy policy) {
  switch (policy) {
    case CheckpointPolicy::kBest:
      return "best";
    case CheckpointPolicy::kAll:
      return "all";
    case CheckpointPolicy::kNone:
      return "none";
  }
  return "best";
}

template <class T>
Value ToRange(const char* type, const T& range) {
  Value::Object object{{"type", type}, {"minval", range.minval}, {"maxval", range.maxval}};
  if (range.count) object["count"] = *range.count;
  return object;
}

Value ToValue(const Condition& condition) {
  if (!condition.any_of.empty()) return condition.any_of;
  Value::Object range;
  if (condition.minval) range["minval"] = *condition.minval;
  if (condition.maxval) range["maxval"] = *condition.maxval;
  return range;
}

Value ToValue(const ResourcesConfig& resources) {
  return Value::Object{
      {"slots_per_trial", resources.slots_per_trial},
      {"max_slots", ToValue(resources.max_slots)},
      {"weight", resources.weight},
      {"priority", ToValue(resources.priority)},
      {"resource_pool", resources.resource_pool},
      {"is_single_node", resources.is_single_node},
  };
}

Value ToValue(const CheckpointStorageConfig& storage) {
  return Value::Object{
      {"type", storage.type},
      {"host_path", storage.host_path},
      {"storage_path", StringOrNull(storage.storage_path)},
      {"save_experiment_best", storage.save_experiment_best},
      {"save_trial_best", storage.save_trial_best},
      {"save_trial_latest", storage.save_trial_latest},
  };
}

}  // namespace

Value ToValue(const Hyperparameter& hparam) {
  Value value = std::visit(Overloaded{
                               [](const ConstHparam& h) -> Value {
                                 return Value::Object{{"type", "const"}, {"val", h.val}};
                               },
                               [](const IntHparam& h) { return ToRange("int", h); },
                               [](const DoubleHparam& h) { return ToRange("double", h); },
                               [](const LogHparam& h) {
                                 Value log = ToRange("log", h);
                                 log.MutableObject()->emplace("base", h.base);
                                 return log;
                               },
                               [](const CategoricalHparam& h) -> Value {
                                 return Value::Object{{"type", "categorical"}, {"vals", h.vals}};
                               },
                               [](const NestedHparam& h) { return ToValue(h.members); },
                           },
                           hparam.kind);
  if (hparam.when.empty()) return value;
  Value::Object when;
  for (const Condition& condition : hparam.when) when.emplace(condition.path, ToValue(condition));
  value.MutableObject()->emplace("when", std::move(when));
  return value;
}

Value ToValue(const SearchSpace& space) {
  Value::Object object;
  for (const auto& [name, hparam] : space) object.emplace(name, ToValue(hparam));
  return object;
}

Value ToValue(const ExperimentConfig& config) {
  return Value::Object{
      {"name", config.name},
      {"description", config.description},
      {"labels", ToValue(config.labels)},
      {"data", config.data},
      {"workspace", config.workspace},
      {"project", config.project},
      {"entrypoint", ToValue(config.entrypoint)},
      {"hyperparameters", ToValue(config.hyperparameters)},
      {"searcher", ToValue(config.searcher)},
      {"resources", ToValue(config.resources)},
      {"max_restarts", config.max_restarts},
      {"min_validation_period", ToValue(config.min_validation_period)},
      {"min_checkpoint_period", ToValue(config.min_checkpoint_period)},
      {"checkpoint_policy", ToText(config.checkpoint_policy)},
      {"perform_initial_validation", config.perform_initial_validation},
      {"records_per_epoch", config.records_per_epoch},
      {"scheduling_unit", config.scheduling_unit},
      {"checkpoint_storage", ToValue(config.checkpoint_storage)},
      {"environment",
       Value::Object{{"environment_variables", ToValue(config.environment_variables)}}},
      {"reproducibility",
       Value::Object{{"experiment_seed", static_cast<int64_t>(config.experiment_seed)}}},
      {"preemption_timeout", config.preemption_timeout_seconds},
      {"debug", config.debug},
  };
}

}  // namespace det::model
