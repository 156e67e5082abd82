#include "trial_api/cpp/torch/optimizations.h"

#include <string>

#include "trial_api/cpp/core/error.h"
#include <nlohmann/json.hpp>

namespace det::trial {
namespace {

using Json = nlohmann::json;

[[noreturn]] void ThrowField(const std::string& path, const Json& value, const char* wanted) {
  throw Error("configuration: " + path + " is " + value.dump() + ", not " + wanted);
}

// A field that is null counts as absent.
const Json* Find(const Json& object, const std::string& name) {
  const auto it = object.find(name);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

}  // namespace

Optimizations ParseOptimizations(std::string_view config_json) {
  const Json config = Json::parse(config_json, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) throw Error("configuration: not a JSON object");
  Optimizations optimizations;
  const Json* const section = Find(config, "optimizations");
  if (section == nullptr) return optimizations;
  if (!section->is_object()) ThrowField("optimizations", *section, "a map");
  if (const Json* frequency = Find(*section, "aggregation_frequency")) {
    if (!frequency->is_number_integer() || frequency->get<int64_t>() < 1) {
      ThrowField("optimizations.aggregation_frequency", *frequency, "an integer >= 1");
    }
    optimizations.aggregation_frequency = frequency->get<int64_t>();
  }
  if (const Json* average = Find(*section, "average_aggregated_gradients")) {
    if (!average->is_boolean()) {
      ThrowField("optimizations.average_aggregated_gradients", *average, "true or false");
    }
    optimizations.average_aggregated_gradients = average->get<bool>();
  }
  return optimizations;
}

}  // namespace det::trial
