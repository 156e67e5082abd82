#include "master/core/model/fields_schema.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "master/core/model/fields.h"

namespace det::model {
namespace {

using Role = Field::Role;
using Object = Value::Object;

// The schema of a hyperparameter, which is not a row of the table.
constexpr char kHyperparameter[] = R"({
  "if": {"type": "object"},
  "then": {
    "if": {"required": ["type"]},
    "then": {
      "properties": {"type": {"enum": ["const", "int", "double", "log", "categorical"]}},
      "allOf": [
        {"if": {"properties": {"type": {"const": "const"}}},
         "then": {"properties": {"type": {}, "val": {}, "when": {"$ref": "#/$defs/when"}},
                  "required": ["val"], "additionalProperties": false}},
        {"if": {"properties": {"type": {"const": "int"}}},
         "then": {"properties": {"type": {}, "minval": {"type": "integer"},
                                 "maxval": {"type": "integer"},
                                 "count": {"type": ["integer", "null"], "minimum": 1},
                                 "when": {"$ref": "#/$defs/when"}},
                  "required": ["minval", "maxval"], "additionalProperties": false}},
        {"if": {"properties": {"type": {"enum": ["double", "log"]}}},
         "then": {"properties": {"type": {}, "minval": {"type": "number"},
                                 "maxval": {"type": "number"},
                                 "base": {"type": "number", "exclusiveMinimum": 0},
                                 "count": {"type": ["integer", "null"], "minimum": 1},
                                 "when": {"$ref": "#/$defs/when"}},
                  "required": ["minval", "maxval"], "additionalProperties": false}},
        {"if": {"properties": {"type": {"const": "categorical"}}},
         "then": {"properties": {"type": {}, "vals": {"type": "array", "minItems": 1},
                                 "when": {"$ref": "#/$defs/when"}},
                  "required": ["vals"], "additionalProperties": false}}
      ]
    },
    "else": {"properties": {"when": {"$ref": "#/$defs/when"}},
             "additionalProperties": {"$ref": "#/$defs/hyperparameter"}}
  }
})";
constexpr char kWhen[] = R"({
  "type": ["object", "null"],
  "additionalProperties": {"anyOf": [
    {"type": ["string", "number", "boolean"]},
    {"type": "array", "minItems": 1},
    {"type": "object", "minProperties": 1, "additionalProperties": false,
     "properties": {"minval": {"type": ["number", "null"]}, "maxval": {"type": ["number", "null"]}}}
  ]}
})";

Value ParseJson(const char* json) {
  absl::StatusOr<Value> value = Value::FromJson(json);
  DET_CHECK(value.ok()) << value.status();
  return *std::move(value);
}

Value MakeAnyOf(Value::List forms) { return Object{{"anyOf", std::move(forms)}}; }
Value MakeListSchema(Value item) { return Object{{"type", "array"}, {"items", std::move(item)}}; }
Value MakeMapSchema(Value member) {
  return Object{{"type", "object"}, {"additionalProperties", std::move(member)}};
}

struct TypeSchema {
  const Field& field;

  Value Number(const char* type) const {
    Object number{{"type", type}};
    if (field.min) number[field.above_min ? "exclusiveMinimum" : "minimum"] = *field.min;
    if (field.max) number["maximum"] = *field.max;
    return number;
  }
  Value Integer() const { return Number("integer"); }
  Value String() const { return Object{{"type", "string"}}; }
  Value LengthForms() const {
    const Object units{{"batches", Integer()}, {"records", Integer()}, {"epochs", Integer()}};
    return MakeAnyOf({Integer(), Object{{"type", "object"},
                                        {"properties", units},
                                        {"additionalProperties", false},
                                        {"minProperties", 1},
                                        {"maxProperties", 1}}});
  }

  Value operator()(std::monostate) const { return Object{}; }
  Value operator()(bool*) const { return Object{{"type", "boolean"}}; }
  Value operator()(int*) const { return Integer(); }
  Value operator()(int64_t*) const { return Integer(); }
  Value operator()(uint32_t*) const { return Integer(); }
  Value operator()(std::optional<int>*) const { return Integer(); }
  Value operator()(std::optional<int64_t>*) const { return Integer(); }
  Value operator()(double*) const { return Number("number"); }
  Value operator()(std::optional<double>*) const { return Number("number"); }
  Value operator()(std::string*) const { return String(); }
  Value operator()(std::vector<std::string>*) const { return MakeListSchema(String()); }
  Value operator()(std::vector<int64_t>*) const { return MakeListSchema(Integer()); }
  Value operator()(std::vector<std::vector<int64_t>>*) const {
    return MakeListSchema(MakeListSchema(Integer()));
  }
  Value operator()(std::map<std::string, int64_t>*) const { return MakeMapSchema(Integer()); }
  Value operator()(Length*) const { return LengthForms(); }
  Value operator()(std::optional<Length>*) const { return LengthForms(); }
  Value operator()(Value*) const { return Object{{"type", "object"}}; }
  Value operator()(Entrypoint*) const { return MakeAnyOf({String(), MakeListSchema(String())}); }
  Value operator()(SearchSpace*) const {
    return MakeMapSchema(Object{{"$ref", "#/$defs/hyperparameter"}});
  }
  Value operator()(VariablesTarget) const {
    return MakeListSchema(Object{{"type", "string"}, {"pattern", "^[^=]"}});
  }
  Value operator()(SizeTarget) const {
    return MakeAnyOf(
        {Integer(),
         Object{{"type", "string"}, {"pattern", "^[0-9.]+ *([kKmMgGtTpP]([iI]?[bB])?|[bB])?$"}}});
  }
  Value operator()(DurationTarget) const {
    return MakeAnyOf(
        {Number("number"),
         Object{{"type", "string"}, {"pattern", "^ *([0-9.]+ *[dhmsDHMS] *)+$|^[0-9.]+$"}}});
  }
  Value operator()(SlotsTarget) const {
    const Value part =
        Object{{"type", "number"}, {"minimum", kMinSlotFraction}, {"exclusiveMaximum", 1}};
    const Value count = Object{{"type", "integer"}, {"minimum", 1}, {"maximum", *field.max}};
    const Value or_null = MakeAnyOf({count, Object{{"type", "null"}}});
    return MakeAnyOf({Integer(), part,
                      Object{{"type", "object"},
                             {"properties", Object{{"min", or_null}, {"max", count}}},
                             {"required", Value::List{"max"}},
                             {"additionalProperties", false}}});
  }
  Value operator()(MetricTarget) const {
    const Value objective =
        Object{{"type", "object"},
               {"properties",
                Object{{"name", String()}, {"smaller_is_better", Object{{"type", "boolean"}}}}},
               {"required", Value::List{"name"}},
               {"additionalProperties", false}};
    Value list = MakeListSchema(MakeAnyOf({String(), objective}));
    list.MutableObject()->emplace("minItems", 1);
    return MakeAnyOf({String(), list});
  }
  Value operator()(ChoiceTarget) const { return String(); }
  Value operator()(ListTarget) const { return Object{}; }
};

Value Choices(const char* words) {
  const std::vector<std::string> choices = SplitWords(words);
  return Object{{"enum", Value::List(choices.begin(), choices.end())}};
}

Value Members(const std::string& path);

// Adds the alternative forms that parse/shape.h converts.
Value WithShorterForms(const Field& field, Value schema) {
  Object& object = *schema.MutableObject();
  switch (field.shape) {
    case Field::Shape::kPlain:
      return schema;
    case Field::Shape::kImages:
    case Field::Shape::kVariables: {
      const Value one = object["properties"].Find("cuda")->Find("anyOf")->AsList()->front();
      object["properties"].MutableObject()->emplace("gpu", one);
      return MakeAnyOf({one, std::move(schema)});
    }
    case Field::Shape::kDevices: {
      const Value text = Object{{"type", "string"}, {"pattern", "^[^:]+:[^:]+(:[mrw]+)?$"}};
      object["items"] = MakeAnyOf({text, object["items"]});
      return schema;
    }
    case Field::Shape::kLabels:
      return MakeAnyOf({std::move(schema), MakeMapSchema(Object{{"type", "boolean"}})});
    case Field::Shape::kCompression:
      return MakeAnyOf({std::move(schema), Object{{"type", "boolean"}}});
    case Field::Shape::kLogPolicies: {
      Object& item = *object["items"].MutableObject();
      Object& properties = *item["properties"].MutableObject();
      item["required"] = Value::List{};
      properties["actions"] = Object{{"type", "array"}};
      properties["action"] = MakeAnyOf({properties["action"], Object{{"type", "object"}}});
      return schema;
    }
  }
  return schema;
}

Value ToSchema(const Field& field) {
  Value schema;
  if (field.role == Role::kIgnored) {
    schema = Object{};
    if (field.default_json != nullptr) schema = Object{{"const", GetDefault(field)}};
  } else if (field.role == Role::kSection) {
    schema = Members(absl::StrCat(field.path, "."));
  } else if (field.role == Role::kList) {
    schema = MakeListSchema(Members(absl::StrCat(field.path, "[].")));
  } else if (field.choices != nullptr) {
    schema = Choices(field.choices);
  } else {
    schema = std::visit(TypeSchema{field}, ExperimentFields().GetType(field));
  }
  schema = WithShorterForms(field, std::move(schema));
  // Null is equivalent to absent.
  if (!field.required && field.role != Role::kIgnored) {
    schema = MakeAnyOf({std::move(schema), Object{{"type", "null"}}});
  }
  schema.MutableObject()->emplace("description", field.description);
  if (field.default_json != nullptr) schema.MutableObject()->emplace("default", GetDefault(field));
  return schema;
}

// The fields that only some kinds of searcher or storage have or require.
Value RulesOfKind(const Field& kind, const std::string& key, const std::string& word,
                  const std::string& path) {
  Object properties;
  Value::List required;
  for (const Field* each : FieldsAt(path)) {
    const Field& field = *each;
    const std::string own = field.path + path.size();
    const bool belongs = field.only_for == nullptr || IsAmong(field.only_for, word);
    const bool ignored = field.ignored_for != nullptr && IsAmong(field.ignored_for, word);
    if (!belongs && !ignored) properties[own] = Object{{"type", "null"}};
    const bool some = field.required_for != nullptr && IsAmong(field.required_for, word);
    if (belongs && (some || (field.required && field.only_for != nullptr))) {
      required.emplace_back(own);
      properties[own] = Object{{"not", Object{{"type", "null"}}}};
    }
  }
  Object is_kind{{"properties", Object{{key, Object{{"const", word}}}}}};
  // If the kind is missing, its default applies.
  if (kind.default_json == nullptr || GetDefault(kind) != Value(word)) {
    is_kind["required"] = Value::List{key};
  }
  return Object{{"if", is_kind},
                {"then", Object{{"properties", properties}, {"required", required}}}};
}

Value Members(const std::string& path) {
  Object properties;
  Value::List required;
  for (const Field* each : FieldsAt(path)) {
    const Field& field = *each;
    if (field.role == Role::kRemoved) continue;
    const std::string key = field.path + path.size();
    Value schema = ToSchema(field);
    // Required by some kinds; null for others.
    if (field.required && field.only_for == nullptr) required.emplace_back(key);
    if (field.required && field.only_for != nullptr) {
      schema = MakeAnyOf({std::move(schema), Object{{"type", "null"}}});
    }
    properties.emplace(key, std::move(schema));
  }
  Object object{{"type", "object"},
                {"properties", std::move(properties)},
                {"required", std::move(required)},
                {"additionalProperties", false}};
  const Field* kind = KindField(path);
  if (kind == nullptr) return object;
  Value::List rules;
  for (const std::string& word : SplitWords(kind->choices)) {
    rules.push_back(RulesOfKind(*kind, kind->path + path.size(), word, path));
  }
  object["allOf"] = std::move(rules);
  return object;
}

}  // namespace

Value ExperimentConfigSchema() {
  Value schema = Members("");
  Object& object = *schema.MutableObject();
  object["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  object["title"] = "Resolute experiment configuration";
  object["$defs"] =
      Object{{"hyperparameter", ParseJson(kHyperparameter)}, {"when", ParseJson(kWhen)}};
  return schema;
}

}  // namespace det::model
