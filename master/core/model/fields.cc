#include "master/core/model/fields.h"

#include <map>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace det::model {
namespace {

using Role = Field::Role;

}  // namespace

const FieldTable& ExperimentFields() {
  static const auto* const table = [] {
    std::vector<Field> fields;
    for (const auto part :
         {GeneralFields(), SearcherFields(), TrainingFields(), TaskFields(), ExtraFields()}) {
      fields.insert(fields.end(), part.begin(), part.end());
    }
    return new FieldTable(std::move(fields), new ExperimentConfig);
  }();
  return *table;
}

std::span<const Field> Fields() { return ExperimentFields().fields(); }
const Field* FindField(std::string_view path) { return ExperimentFields().Find(path); }
const std::vector<const Field*>& FieldsAt(std::string_view path) {
  return ExperimentFields().At(path);
}
const Field* KindField(std::string_view path) { return ExperimentFields().GetKindField(path); }

bool AppliesTo(const Field& field, const ExperimentConfig& config) {
  if (field.only_for == nullptr) return true;
  const Field* kind = KindField(field.path);
  DET_CHECK(kind != nullptr);
  const Value value = FieldValue(*kind, config);
  return value.AsString() != nullptr && IsAmong(field.only_for, *value.AsString());
}

bool IsMap(const Field& field) {
  if (field.role == Role::kSection) return true;
  if (field.role != Role::kValue) return false;
  const FieldTarget target = ExperimentFields().GetType(field);
  return std::holds_alternative<Value*>(target) || std::holds_alternative<SearchSpace*>(target) ||
         std::holds_alternative<SlotsTarget>(target) ||
         std::holds_alternative<std::map<std::string, int64_t>*>(target);
}

}  // namespace det::model
