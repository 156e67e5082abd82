// Writes a configuration by the table of fields.
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "master/model/fields.h"

namespace det::model {
namespace {

using Role = Field::Role;

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

// What an empty place looks like: null where the table says that this is the default.
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
  Value operator()(const std::vector<std::string>* v) const { return ToList(*v); }
  Value operator()(const std::vector<int64_t>* v) const {
    return Value::List(v->begin(), v->end());
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
  Value operator()(SizeTarget v) const { return OrNull(*v.bytes); }
  Value operator()(MetricTarget v) const { return ToValue(*v.searcher); }
  Value operator()(ChoiceTarget v) const {
    return SplitWords(field.choices).at(static_cast<size_t>(v.get(v.at)));
  }
  Value operator()(ListTarget) const { return Value(); }
};

// The table's places may be written to; here they are only read.
FieldTarget TargetOf(const Field& field, const ExperimentConfig& config, size_t item) {
  return field.target(const_cast<ExperimentConfig&>(config), item);
}

Value Members(const std::string& path, const ExperimentConfig& config, size_t item) {
  Value::Object object;
  for (const Field* field : FieldsAt(path)) {
    if (field->role == Role::kIgnored || field->role == Role::kGone) continue;
    if (!AppliesTo(*field, config)) continue;
    object.emplace(field->path + path.size(), FieldValue(*field, config, item));
  }
  return object;
}

// Below data.secrets, whatever it is.
void HideAll(Value& value) {
  if (Value::Object* object = value.MutableObject()) {
    for (auto& [key, member] : *object) HideAll(member);
  } else if (Value::List* list = value.MutableList()) {
    for (Value& item : *list) HideAll(item);
  } else if (!value.is_null()) {
    value = "********";
  }
}

Value* MutableAt(Value& root, std::string_view path) {
  Value* at = &root;
  while (at != nullptr && !path.empty()) {
    const size_t dot = path.find('.');
    Value::Object* object = at->MutableObject();
    if (object == nullptr) return nullptr;
    const auto it = object->find(std::string(path.substr(0, dot)));
    at = it == object->end() ? nullptr : &it->second;
    path = dot == path.npos ? std::string_view() : path.substr(dot + 1);
  }
  return at;
}

}  // namespace

Value FieldValue(const Field& field, const ExperimentConfig& config, size_t item) {
  if (field.role == Role::kSection) {
    Value section = Members(absl::StrCat(field.path, "."), config, item);
    if (field.default_json != nullptr && section == Members(absl::StrCat(field.path, "."), {}, 0)) {
      return DefaultOf(field);
    }
    return section;
  }
  const FieldTarget target = TargetOf(field, config, item);
  if (field.role != Role::kList) return std::visit(Write{field}, target);
  const auto& list = std::get<ListTarget>(target);
  Value::List items;
  for (size_t i = 0; i < list.size(list.list); ++i) {
    items.push_back(Members(absl::StrCat(field.path, "[]."), config, i));
  }
  return items;
}

Value DefaultOf(const Field& field) {
  if (field.default_json == nullptr) return Value();
  const absl::StatusOr<Value> value = Value::FromJson(field.default_json);
  DET_CHECK(value.ok());
  return *value;
}

Value ToValue(const ExperimentConfig& config) { return Members("", config, 0); }

Value ToShownValue(const ExperimentConfig& config) {
  Value value = ToValue(config);
  for (const Field& field : Fields()) {
    Value* at = field.secret ? MutableAt(value, field.path) : nullptr;
    if (at != nullptr) HideAll(*at);
  }
  if (Value* secrets = MutableAt(value, "data.secrets")) HideAll(*secrets);
  return value;
}

}  // namespace det::model
