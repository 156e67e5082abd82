#include "master/model/searcher_config.h"

namespace det::model {
namespace {

bool Halves(const std::string& name) {
  return name == "asha" || name == "async_halving" || name == "adaptive_asha" ||
         name == "hyperband";
}

Value MetricValue(const SearcherConfig& searcher) {
  if (searcher.other_objectives.empty()) return searcher.metric;
  Value::List metrics;
  for (const Objective& objective : Objectives(searcher)) {
    metrics.emplace_back(Value::Object{{"name", objective.metric},
                                       {"smaller_is_better", objective.smaller_is_better}});
  }
  return metrics;
}

void AddHalving(const SearcherConfig& searcher, Value::Object& object) {
  object["divisor"] = searcher.divisor;
  if (searcher.name == "asha" || searcher.name == "async_halving") {
    object["num_rungs"] = searcher.num_rungs;
  }
  if (searcher.name == "adaptive_asha") {
    object["mode"] = ToText(searcher.mode);
    object["max_rungs"] = searcher.max_rungs;
    object["bracket_rungs"] =
        Value::List(searcher.bracket_rungs.begin(), searcher.bracket_rungs.end());
  }
  if (searcher.name != "hyperband") object["stop_once"] = searcher.stop_once;
}

void AddPopulation(const PopulationConfig& population, Value::Object& object) {
  object["population_size"] = population.size;
  object["num_generations"] = population.generations;
  object["replaced_fraction"] = population.replaced_fraction;
  object["resample_probability"] = population.resample_probability;
  object["perturb_factor"] = population.perturb_factor;
}

}  // namespace

std::vector<Objective> Objectives(const SearcherConfig& config) {
  std::vector<Objective> all;
  all.emplace_back(config.metric, config.smaller_is_better);
  all.insert(all.end(), config.other_objectives.begin(), config.other_objectives.end());
  return all;
}

int64_t MaxLength(const SearcherConfig& config) {
  if (config.max_time) return *config.max_time;
  return config.max_length ? config.max_length->count : 0;
}

std::string LengthMetric(const SearcherConfig& config) {
  if (!config.time_metric.empty()) return config.time_metric;
  return config.max_length ? ToText(config.max_length->unit) : "batches";
}

const char* ToText(SearchMode mode) {
  switch (mode) {
    case SearchMode::kAggressive:
      return "aggressive";
    case SearchMode::kStandard:
      return "standard";
    case SearchMode::kConservative:
      return "conservative";
  }
  return "standard";
}

const char* ToText(Length::Unit unit) {
  switch (unit) {
    case Length::Unit::kBatches:
      return "batches";
    case Length::Unit::kRecords:
      return "records";
    case Length::Unit::kEpochs:
      return "epochs";
  }
  return "batches";
}

Value ToValue(const Length& length) { return Value::Object{{ToText(length.unit), length.count}}; }

Value ToValue(const SearcherConfig& searcher) {
  Value::Object object{
      {"name", searcher.name},
      {"metric", MetricValue(searcher)},
      {"smaller_is_better", searcher.smaller_is_better},
      {"max_length", searcher.max_length ? ToValue(*searcher.max_length) : Value()},
  };
  if (searcher.max_time) object["max_time"] = *searcher.max_time;
  if (!searcher.time_metric.empty()) object["time_metric"] = searcher.time_metric;
  if (searcher.source_trial_id) object["source_trial_id"] = *searcher.source_trial_id;
  if (!searcher.source_checkpoint_uuid.empty()) {
    object["source_checkpoint_uuid"] = searcher.source_checkpoint_uuid;
  }
  if (searcher.name == "single") return object;
  object["max_concurrent_trials"] = searcher.max_concurrent_trials;
  if (searcher.name != "grid") object["max_trials"] = searcher.max_trials;
  if (Halves(searcher.name)) AddHalving(searcher, object);
  if (Halves(searcher.name) || searcher.name == "random") object["sampler"] = searcher.sampler;
  if (searcher.name == "pbt") AddPopulation(searcher.population, object);
  return object;
}

}  // namespace det::model
