#include "trial_api/cpp/core/training_config.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "trial_api/cpp/core/error.h"
#include <nlohmann/json.hpp>

namespace det {
namespace {

std::optional<Length::Unit> UnitNamed(std::string_view name) {
  if (name == "batches" || name == "batch") return Length::Unit::kBatches;
  if (name == "records" || name == "record") return Length::Unit::kRecords;
  if (name == "epochs" || name == "epoch") return Length::Unit::kEpochs;
  return std::nullopt;
}

}  // namespace

Length ParseLength(const std::string& text) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipWhitespace());
  Length length;
  const bool has_count = !words.empty() && absl::SimpleAtoi(words[0], &length.count);
  const auto unit = words.size() < 2 ? Length::Unit::kBatches : UnitNamed(words[1]);
  if (!has_count || length.count < 0 || !unit || words.size() > 2) {
    throw Error("'" + text + "' is not a length; expected for example '3 epochs' or '100 batches'");
  }
  length.unit = *unit;
  return length;
}

namespace core {
namespace {

using Json = nlohmann::json;

// A field that is null counts as missing.
const Json* Find(const Json& object, const std::string& name) {
  const auto it = object.find(name);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

[[noreturn]] void ThrowField(const std::string& path, const Json& value, const char* expected) {
  throw Error("configuration: " + path + " is " + value.dump() + ", not " + expected);
}

Length LengthFrom(const std::string& path, const Json& value) {
  if (value.is_number_integer() && value.get<int64_t>() >= 0) {
    return {Length::Unit::kBatches, value.get<int64_t>()};
  }
  if (value.is_object() && value.size() == 1) {
    const auto unit = UnitNamed(value.begin().key());
    const Json& count = value.begin().value();
    if (unit && count.is_number_integer() && count.get<int64_t>() >= 0) {
      return {*unit, count.get<int64_t>()};
    }
  }
  ThrowField(path, value, "a length such as {epochs: 3}");
}

int64_t IntFrom(const std::string& path, const Json& value, int64_t min) {
  if (!value.is_number_integer() || value.get<int64_t>() < min) {
    ThrowField(path, value, min == 0 ? "an integer >= 0" : "an integer >= 1");
  }
  return value.get<int64_t>();
}

bool BoolFrom(const std::string& path, const Json& value) {
  if (!value.is_boolean()) ThrowField(path, value, "true or false");
  return value.get<bool>();
}

TrainingConfig::CheckpointPolicy PolicyFrom(const Json& value) {
  using Policy = TrainingConfig::CheckpointPolicy;
  if (value == "best") return Policy::kBest;
  if (value == "all") return Policy::kAll;
  if (value == "none") return Policy::kNone;
  ThrowField("checkpoint_policy", value, "best, all or none");
}

void ParseSearcher(const Json& searcher, TrainingConfig* config) {
  if (!searcher.is_object()) ThrowField("searcher", searcher, "a map");
  const Json* metric = Find(searcher, "metric");
  // If there are several objectives, trials are ranked by the first.
  if (metric != nullptr && metric->is_array() && !metric->empty()) {
    const Json& first = metric->front();
    if (const Json* smaller = Find(first, "smaller_is_better")) {
      config->smaller_is_better = BoolFrom("searcher.metric[0].smaller_is_better", *smaller);
    }
    metric = first.is_object() ? Find(first, "name") : &first;
  }
  if (metric != nullptr) {
    if (!metric->is_string()) ThrowField("searcher.metric", *metric, "a string");
    config->searcher_metric = metric->get<std::string>();
  }
  if (const Json* smaller = Find(searcher, "smaller_is_better")) {
    config->smaller_is_better = BoolFrom("searcher.smaller_is_better", *smaller);
  }
  if (const Json* length = Find(searcher, "max_length")) {
    config->max_length = LengthFrom("searcher.max_length", *length);
    return;
  }
  // The searcher measures time in a metric that the controller itself reports.
  const Json* time = Find(searcher, "max_time");
  const Json* unit = Find(searcher, "time_metric");
  if (time == nullptr || unit == nullptr || !unit->is_string()) return;
  if (*unit == "batches" || *unit == "records" || *unit == "epochs") {
    config->max_length =
        Length{*UnitNamed(unit->get<std::string>()), IntFrom("searcher.max_time", *time, 1)};
  }
}

Json ParseObject(std::string_view config_json) {
  Json config = Json::parse(config_json, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) throw Error("the experiment configuration is not a map");
  return config;
}

}  // namespace

TrainingConfig ParseTrainingConfig(std::string_view config_json) {
  const Json json = ParseObject(config_json);
  TrainingConfig config;
  if (const Json* searcher = Find(json, "searcher")) ParseSearcher(*searcher, &config);
  if (const Json* period = Find(json, "min_validation_period")) {
    config.validation_period = LengthFrom("min_validation_period", *period);
  }
  if (const Json* period = Find(json, "min_checkpoint_period")) {
    config.checkpoint_period = LengthFrom("min_checkpoint_period", *period);
  }
  if (const Json* unit = Find(json, "scheduling_unit")) {
    config.reporting_period = IntFrom("scheduling_unit", *unit, 1);
  }
  if (const Json* profiling = Find(json, "profiling"); profiling && profiling->is_object()) {
    const Json* enabled = Find(*profiling, "enabled");
    if (enabled != nullptr) config.profiling = BoolFrom("profiling.enabled", *enabled);
  }
  if (const Json* records = Find(json, "records_per_epoch")) {
    config.records_per_epoch = IntFrom("records_per_epoch", *records, 0);
  }
  if (const Json* initial = Find(json, "perform_initial_validation")) {
    config.initial_validation = BoolFrom("perform_initial_validation", *initial);
  }
  if (const Json* policy = Find(json, "checkpoint_policy")) {
    config.checkpoint_policy = PolicyFrom(*policy);
  }
  return config;
}

bool IsInProcess(std::string_view config_json) {
  const Json json = ParseObject(config_json);
  const Json* const section = Find(json, "optimizations");
  const Json* const strategy =
      section != nullptr && section->is_object() ? Find(*section, "strategy") : nullptr;
  return strategy != nullptr && *strategy == "in_process";
}

std::string TopLevelField(std::string_view config_json, const std::string& name) {
  const Json json = ParseObject(config_json);
  const Json* const value = Find(json, name);
  return value == nullptr ? "{}" : value->dump();
}

}  // namespace core
}  // namespace det
