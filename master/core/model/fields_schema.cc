#include "master/core/model/fields_schema.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "master/core/model/fields.h"

namespace det::model {
namespace {

using Role = Field::Role;
using Object = Value::Object;

// What a hyperparameter may be: no row of the table says it.
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

Value Parsed(const char* json) {
  absl::StatusOr<Value> value = Value::FromJson(json);
  DET_CHECK(value.ok()) << value.status();
  return *std::move(value);
}

Value AnyOf(Value::List forms) { return Object{{"anyOf", std::move(forms)}}; }
Value ListOfThese(Value item) { return Object{{"type", "array"}, {"items", std::move(item)}}; }
Value MapOfThese(Value member) {
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
    return AnyOf({Integer(), Object{{"type", "object"},
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
  Value operator()(std::vector<std::string>*) const { return ListOfThese(String()); }
  Value operator()(std::vector<int64_t>*) const { return ListOfThese(Integer()); }
  Value operator()(std::vector<std::vector<int64_t>>*) const {
    return ListOfThese(ListOfThese(Integer()));
  }
  Value operator()(std::map<std::string, int64_t>*) const { return MapOfThese(Integer()); }
  Value operator()(Length*) const { return LengthForms(); }
  Value operator()(std::optional<Length>*) const { return LengthForms(); }
  Value operator()(Value*) const { return Object{{"type", "object"}}; }
  Value operator()(Entrypoint*) const { return AnyOf({String(), ListOfThese(String())}); }
  Value operator()(SearchSpace*) const {
    return MapOfThese(Object{{"$ref", "#/$defs/hyperparameter"}});
  }
  Value operator()(VariablesTarget) const {
    return ListOfThese(Object{{"type", "string"}, {"pattern", "^[^=]"}});
  }
  Value operator()(SizeTarget) const {
    return AnyOf({Integer(), Object{{"type", "string"},
                                    {"pattern", "^[0-9.]+ *([kKmMgGtTpP]([iI]?[bB])?|[bB])?$"}}});
  }
  Value operator()(DurationTarget) const {
    return AnyOf({Number("number"), Object{{"type", "string"},
                                           {"pattern", "^ *([0-9.]+ *[dhmsDHMS] *)+$|^[0-9.]+$"}}});
  }
  Value operator()(SlotsTarget) const {
    const Value part =
        Object{{"type", "number"}, {"minimum", kLeastSlotFraction}, {"exclusiveMaximum", 1}};
    const Value count = Object{{"type", "integer"}, {"minimum", 1}, {"maximum", *field.max}};
    const Value or_null = AnyOf({count, Object{{"type", "null"}}});
    return AnyOf({Integer(), part,
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
    Value list = ListOfThese(AnyOf({String(), objective}));
    list.MutableObject()->emplace("minItems", 1);
    return AnyOf({String(), list});
  }
  Value operator()(ChoiceTarget) const { return String(); }
  Value operator()(ListTarget) const { return Object{}; }
};

Value Choices(const char* words) {
  const std::vector<std::string> choices = SplitWords(words);
  return Object{{"enum", Value::List(choices.begin(), choices.end())}};
}

Value Members(const std::string& path);

// The forms that become the table's own (parse/shape.h).
Value WithShorterForms(const Field& field, Value schema) {
  Object& object = *schema.MutableObject();
  switch (field.shape) {
    case Field::Shape::kPlain:
      return schema;
    case Field::Shape::kImages:
    case Field::Shape::kVariables: {
      const Value one = object["properties"].Find("cuda")->Find("anyOf")->AsList()->front();
      object["properties"].MutableObject()->emplace("gpu", one);
      return AnyOf({one, std::move(schema)});
    }
    case Field::Shape::kDevices: {
      const Value text = Object{{"type", "string"}, {"pattern", "^[^:]+:[^:]+(:[mrw]+)?$"}};
      object["items"] = AnyOf({text, object["items"]});
      return schema;
    }
    case Field::Shape::kLabels:
      return AnyOf({std::move(schema), MapOfThese(Object{{"type", "boolean"}})});
    case Field::Shape::kCompression:
      return AnyOf({std::move(schema), Object{{"type", "boolean"}}});
    case Field::Shape::kLogPolicies: {
      Object& item = *object["items"].MutableObject();
      Object& properties = *item["properties"].MutableObject();
      item["required"] = Value::List{};
      properties["actions"] = Object{{"type", "array"}};
      properties["action"] = AnyOf({properties["action"], Object{{"type", "object"}}});
      return schema;
    }
  }
  return schema;
}

Value Of(const Field& field) {
  Value schema;
  if (field.role == Role::kIgnored) {
    schema = Object{};
    if (field.default_json != nullptr) schema = Object{{"const", DefaultOf(field)}};
  } else if (field.role == Role::kSection) {
    schema = Members(absl::StrCat(field.path, "."));
  } else if (field.role == Role::kList) {
    schema = ListOfThese(Members(absl::StrCat(field.path, "[].")));
  } else if (field.choices != nullptr) {
    schema = Choices(field.choices);
  } else {
    schema = std::visit(TypeSchema{field}, ExperimentFields().TypeOf(field));
  }
  schema = WithShorterForms(field, std::move(schema));
  // Null is absent.
  if (!field.required && field.role != Role::kIgnored) {
    schema = AnyOf({std::move(schema), Object{{"type", "null"}}});
  }
  schema.MutableObject()->emplace("description", field.description);
  if (field.default_json != nullptr) schema.MutableObject()->emplace("default", DefaultOf(field));
  return schema;
}

// What only some kinds of searcher or storage have, and what they must have.
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
  // Where it is missing, the default counts.
  if (kind.default_json == nullptr || DefaultOf(kind) != Value(word)) {
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
    if (field.role == Role::kGone) continue;
    const std::string key = field.path + path.size();
    Value schema = Of(field);
    // Required by some kinds: null elsewhere.
    if (field.required && field.only_for == nullptr) required.emplace_back(key);
    if (field.required && field.only_for != nullptr) {
      schema = AnyOf({std::move(schema), Object{{"type", "null"}}});
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
  object["$defs"] = Object{{"hyperparameter", Parsed(kHyperparameter)}, {"when", Parsed(kWhen)}};
  return schema;
}

}  // namespace det::model
