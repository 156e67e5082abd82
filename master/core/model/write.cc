// Conversion of a configuration to JSON, by the table of fields.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "master/core/model/fields.h"

namespace det::model {
namespace {

using Role = Field::Role;

// The table returns mutable members; they are only read here.
FieldTarget GetTarget(const Field& field, const ExperimentConfig& config, size_t item) {
  return field.target(const_cast<ExperimentConfig*>(&config), item);
}

Value Members(const std::string& path, const ExperimentConfig& config, size_t item) {
  Value::Object object;
  for (const Field* field : FieldsAt(path)) {
    if (field->role == Role::kIgnored || field->role == Role::kRemoved) continue;
    if (!AppliesTo(*field, config)) continue;
    object.emplace(field->path + path.size(), FieldValue(*field, config, item));
  }
  return object;
}

// Replaces every value below data.secrets.
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

void HideSecrets(Value& value) {
  for (const Field& field : Fields()) {
    Value* at = field.secret ? MutableAt(value, field.path) : nullptr;
    if (at != nullptr) HideAll(*at);
  }
  if (Value* secrets = MutableAt(value, "data.secrets")) HideAll(*secrets);
}

// A field whose default is shown as another value.
struct ShownField {
  const char* path;
  Value value;
  Value shown;
};

std::vector<ShownField> ListShownFields() {
  std::vector<ShownField> fields;
  for (const Field& field : Fields()) {
    if (field.shown_default == nullptr) continue;
    absl::StatusOr<Value> shown = Value::FromJson(field.shown_default);
    DET_CHECK(shown.ok());
    fields.push_back({field.path, GetDefault(field), *std::move(shown)});
  }
  return fields;
}

}  // namespace

Value FieldValue(const Field& field, const ExperimentConfig& config, size_t item) {
  if (field.role == Role::kSection) {
    Value section = Members(absl::StrCat(field.path, "."), config, item);
    if (field.default_json != nullptr && section == Members(absl::StrCat(field.path, "."), {}, 0)) {
      return GetDefault(field);
    }
    return section;
  }
  const FieldTarget target = GetTarget(field, config, item);
  if (field.role != Role::kList) return ValueAt(field, target);
  const auto& list = std::get<ListTarget>(target);
  Value::List items;
  for (size_t i = 0; i < list.size(list.list); ++i) {
    items.push_back(Members(absl::StrCat(field.path, "[]."), config, i));
  }
  return items;
}

Value ToValue(const ExperimentConfig& config) { return Members("", config, 0); }

Value ToShownValue(const ExperimentConfig& config) {
  static const auto& shown_fields = *new std::vector<ShownField>(ListShownFields());
  Value value = ToValue(config);
  HideSecrets(value);
  for (const ShownField& field : shown_fields) {
    Value* at = MutableAt(value, field.path);
    if (at != nullptr && *at == field.value) *at = field.shown;
  }
  return value;
}

bool HasSecrets(const ExperimentConfig& config) {
  const Value value = ToValue(config);
  Value hidden = value;
  HideSecrets(hidden);
  return hidden != value;
}

}  // namespace det::model
