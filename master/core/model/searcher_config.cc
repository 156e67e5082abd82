#include "master/core/model/searcher_config.h"

namespace det::model {
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

}  // namespace det::model
