// The value of a field in the format of the configuration.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "base/check.h"
#include "master/core/model/field_table.h"

namespace det::model {
namespace {

template <class T>
Value OrNull(const std::optional<T>& value) {
  if (!value) return Value();
  if constexpr (std::is_same_v<T, Length>) {
    return ToValue(*value);
  } else {
    return Value(*value);
  }
}

Value ToList(const std::vector<std::string>& texts) {
  return Value::List(texts.begin(), texts.end());
}

Value ToValue(const SearcherConfig& searcher) {
  if (searcher.other_objectives.empty()) return searcher.metric;
  Value::List metrics;
  for (const Objective& objective : Objectives(searcher)) {
    metrics.emplace_back(Value::Object{{"name", objective.metric},
                                       {"smaller_is_better", objective.smaller_is_better}});
  }
  return metrics;
}

// Converts a member; an empty one becomes null if the default of the field is null.
struct Write {
  const Field& field;
  bool NullWhenEmpty() const {
    return field.default_json != nullptr && std::string_view(field.default_json) == "null";
  }

  Value operator()(std::monostate) const { return Value(); }
  Value operator()(const bool* v) const { return *v; }
  Value operator()(const int* v) const { return *v; }
  Value operator()(const int64_t* v) const {
    return *v == 0 && NullWhenEmpty() ? Value() : Value(*v);
  }
  Value operator()(const uint32_t* v) const { return static_cast<int64_t>(*v); }
  Value operator()(const double* v) const { return *v; }
  Value operator()(const std::string* v) const {
    return v->empty() && NullWhenEmpty() ? Value() : Value(*v);
  }
  Value operator()(const std::optional<int>* v) const { return OrNull(*v); }
  Value operator()(const std::optional<int64_t>* v) const { return OrNull(*v); }
  Value operator()(const std::optional<double>* v) const { return OrNull(*v); }
  Value operator()(const std::vector<std::string>* v) const { return ToList(*v); }
  Value operator()(const std::vector<int64_t>* v) const {
    return Value::List(v->begin(), v->end());
  }
  Value operator()(const std::vector<std::vector<int64_t>>* v) const {
    Value::List lists;
    for (const std::vector<int64_t>& list : *v) {
      lists.emplace_back(Value::List(list.begin(), list.end()));
    }
    return lists;
  }
  Value operator()(const std::map<std::string, int64_t>* v) const {
    return Value::Object(v->begin(), v->end());
  }
  Value operator()(const Length* v) const { return model::ToValue(*v); }
  Value operator()(const std::optional<Length>* v) const { return OrNull(*v); }
  Value operator()(const Value* v) const { return *v; }
  Value operator()(const Entrypoint* v) const {
    if (const auto* text = std::get_if<std::string>(v)) return *text;
    return ToList(std::get<std::vector<std::string>>(*v));
  }
  Value operator()(const SearchSpace* v) const { return model::ToValue(*v); }
  Value operator()(VariablesTarget v) const { return ToList(*v.variables); }
  Value operator()(SizeTarget v) const { return OrNull(v.get(v.at)); }
  Value operator()(DurationTarget v) const {
    const std::optional<double> seconds = v.get(v.at);
    if (!seconds) return Value();
    const auto whole = static_cast<int64_t>(*seconds);
    return static_cast<double>(whole) == *seconds ? Value(whole) : Value(*seconds);
  }
  Value operator()(SlotsTarget v) const {
    const ResourcesConfig& resources = *v.resources;
    if (resources.slot_fraction < 1) return resources.slot_fraction;
    if (resources.max_slots_per_trial == 0) return resources.slots_per_trial;
    return Value::Object{{"min", resources.slots_per_trial},
                         {"max", resources.max_slots_per_trial}};
  }
  Value operator()(MetricTarget v) const { return ToValue(*v.searcher); }
  Value operator()(ChoiceTarget v) const {
    const int index = v.get(v.at);
    if (index < 0) return Value();
    return SplitWords(field.choices).at(static_cast<size_t>(index));
  }
  Value operator()(ListTarget) const { return Value(); }
};

}  // namespace

Value ValueAt(const Field& field, const FieldTarget& target) {
  return std::visit(Write{field}, target);
}

Value GetDefault(const Field& field) {
  if (field.default_json == nullptr) return Value();
  const absl::StatusOr<Value> value = Value::FromJson(field.default_json);
  DET_CHECK(value.ok());
  return *value;
}

}  // namespace det::model
