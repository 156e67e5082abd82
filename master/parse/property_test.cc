// Any configuration that the table allows is equal after printing and parsing it. rapidcheck prints
// the seed and the smallest counterexample.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "master/core/model/fields.h"
#include "master/parse/parse.h"
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace det::model {
namespace {

bool Coin() { return *rc::gen::arbitrary<bool>(); }

// A value of the field's type and range.
struct AnyValue {
  const Field& field;

  Value Integer() const {
    const auto low = static_cast<int64_t>(field.min.value_or(-1000));
    const auto high = static_cast<int64_t>(field.max.value_or(1e12));
    return *rc::gen::inRange<int64_t>(low + (field.above_min ? 1 : 0), high + 1);
  }
  Value Text() const {
    return *rc::gen::elementOf(std::vector<std::string>{"x", "yes", "1", "null", "ä\n\"'", "a: b"});
  }
  Value Texts() const {
    Value::List list;
    for (int i = *rc::gen::inRange(0, 3); i > 0; --i) list.push_back(Text());
    return list;
  }
  Value AnyLength() const {
    const char* unit =
        *rc::gen::elementOf(std::vector<const char*>{"batches", "records", "epochs"});
    return Value::Object{{unit, Integer()}};
  }

  Value operator()(std::monostate) const { return Value(); }
  Value operator()(bool*) const { return Coin(); }
  Value operator()(int*) const { return Integer(); }
  Value operator()(int64_t*) const { return Integer(); }
  Value operator()(uint32_t*) const { return Integer(); }
  Value operator()(std::optional<int>*) const { return Integer(); }
  Value operator()(std::optional<int64_t>*) const { return Integer(); }
  Value operator()(double*) const {
    const double low = field.min.value_or(-5), high = field.max.value_or(low + 100);
    return low + (high - low) * *rc::gen::inRange(1, 1000) / 1000.0;
  }
  Value operator()(std::optional<double>*) const { return (*this)(static_cast<double*>(nullptr)); }
  Value operator()(std::string*) const { return Text(); }
  Value operator()(std::vector<std::string>*) const { return Texts(); }
  Value operator()(std::vector<int64_t>*) const { return Value::List{Integer(), Integer()}; }
  Value operator()(std::vector<std::vector<int64_t>>*) const {
    return Value::List{Value::List{Integer()}, Value::List{}};
  }
  Value operator()(std::map<std::string, int64_t>*) const {
    return Value::Object{{"a", Integer()}, {"b.c", Integer()}};
  }
  Value operator()(Length*) const { return AnyLength(); }
  Value operator()(std::optional<Length>*) const { return AnyLength(); }
  Value operator()(Value*) const {
    return Value::Object{{"k", Text()}, {"n", Value::Object{{"none", Value()}, {"d", 0.5}}}};
  }
  Value operator()(Entrypoint*) const {
    if (Coin()) return Value::List{"sh", "-c", ""};
    return *rc::gen::elementOf(std::vector<std::string>{"net.cc:Net", "model:Trial", "true"});
  }
  Value operator()(SearchSpace*) const {
    return *Value::FromJson(*rc::gen::elementOf(
        std::vector<std::string>{"{}", R"({"a":1,"b":null,"c":[1],"d":{},"when":2})",
                                 R"({"o":{"type":"categorical","vals":["x",1,null]},
            "n":{"i":{"type":"int","minval":1,"maxval":3,"count":2,"when":{"o":["x",1]}},
                 "when":{"l":{"minval":0.1,"maxval":1}}},
            "l":{"type":"log","minval":-2,"maxval":0,"count":3,"when":{"o":1}}})"}));
  }
  Value operator()(VariablesTarget) const { return Value::List{"A=1", "B="}; }
  Value operator()(SizeTarget) const { return Coin() ? Integer() : Value("3g"); }
  Value operator()(DurationTarget) const {
    if (Coin()) return Integer();
    return *rc::gen::elementOf(std::vector<std::string>{"90m", "1d 12h", "1.5h", "77"});
  }
  Value operator()(SlotsTarget) const {
    const int64_t few = *rc::gen::inRange(1, 1000);
    if (Coin()) return few;
    if (Coin()) return static_cast<double>(*rc::gen::inRange(1, 100)) / 100.0;
    return Value::Object{{"min", few}, {"max", *rc::gen::inRange(few, int64_t{2000})}};
  }
  Value operator()(MetricTarget) const { return "loss"; }
  Value operator()(ChoiceTarget) const { return Value(); }
  Value operator()(ListTarget) const { return Value(); }
};

// Values for fields with rules that the table does not have.
const std::map<std::string, Value>& Fixed() {
  static const auto* const fixed = new std::map<std::string, Value>{
      {"workspace", "w"},
      {"project", "p"},
      {"resources.max_slots", 2147483647},
      {"resources.devices[].mode", "rw"},
      {"resources.blocked_agents", Value::List{"a", "b"}},
      {"log_policies[].pattern", "(a|b)+"},
      {"bind_mounts[].host_path", "/m"},
      {"bind_mounts[].container_path", "/m"},
      {"profiling.end_after_batch", Value()},
      {"optimizations.strategy", "allreduce"},
      {"optimizations.hierarchical_allreduce", false},
      {"optimizations.auto_tune_tensor_fusion", false},
      {"checkpoint_storage.host_path", "/nfs"},
      {"checkpoint_storage.storage_path", "a/b"},
      {"checkpoint_storage.container_path", "/nfs"},
      {"checkpoint_storage.access_key", "k"},
      {"checkpoint_storage.secret_key", "s"},
      {"checkpoint_storage.connection_string", Value()},
      {"checkpoint_storage.account_url", "u"},
      {"searcher.max_time", Value()},
      {"searcher.time_metric", Value()},
      {"searcher.source_trial_id", Value()},
  };
  return *fixed;
}

struct Kinds {
  std::string searcher;
  std::string storage;
  const std::string& For(const Field& field) const {
    return std::string_view(field.path).starts_with("searcher.") ? searcher : storage;
  }
};

Value AnyMembers(const std::string& path, const Kinds& kinds);

Value AnyFieldValue(const Field& field, const Kinds& kinds) {
  const std::string path = field.path;
  if (path == "searcher.name") return kinds.searcher;
  if (path == "checkpoint_storage.type") return kinds.storage;
  if (const auto it = Fixed().find(path); it != Fixed().end()) return it->second;
  if (field.role == Field::Role::kSection) return AnyMembers(path + ".", kinds);
  if (field.role == Field::Role::kList) {
    // Built-in items are always present.
    Value::List items = *GetDefault(field).AsList();
    if (Coin()) items.push_back(AnyMembers(path + "[].", kinds));
    return items;
  }
  if (field.choices != nullptr) return *rc::gen::elementOf(SplitWords(field.choices));
  return std::visit(AnyValue{field}, ExperimentFields().GetType(field));
}

Value AnyMembers(const std::string& path, const Kinds& kinds) {
  Value::Object object;
  for (const Field* each : FieldsAt(path)) {
    const Field& field = *each;
    if (field.role == Field::Role::kRemoved || field.role == Field::Role::kIgnored) continue;
    if (field.only_for != nullptr && !IsAmong(field.only_for, kinds.For(field))) continue;
    const std::string own = field.path;
    const bool must = field.required || field.required_for != nullptr || KindField(own) == &field ||
                      own == "searcher.max_length" || own == "workspace" || own == "project" ||
                      own == "checkpoint_storage" || own == "checkpoint_storage.host_path" ||
                      own == "checkpoint_storage.account_url" ||
                      own == "checkpoint_storage.access_key" ||
                      own == "checkpoint_storage.secret_key";
    if (must || Coin()) object.emplace(own.substr(path.size()), AnyFieldValue(field, kinds));
  }
  return object;
}

// Whether ParseExperimentConfig refuses what ExperimentConfigFromJson accepts.
bool IsRefused(const ExperimentConfig& config) {
  for (const Field& field : Fields()) {
    if (field.refusal == nullptr) continue;
    const Value value = FieldValue(field, config);
    if (value == FieldValue(field, {})) continue;
    if (field.refused == nullptr || IsAmong(field.refused, *value.AsString())) return true;
  }
  return false;
}

RC_GTEST_PROP(ConfigProperty, PrintedParsesBackToItself, ()) {
  Kinds kinds;
  kinds.searcher = *rc::gen::elementOf(SplitWords(FindField("searcher.name")->choices));
  kinds.storage = *rc::gen::elementOf(SplitWords(FindField("checkpoint_storage.type")->choices));
  const std::string json = AnyMembers("", kinds).ToJson();
  const auto config = ExperimentConfigFromJson(json);
  if (!config.ok()) RC_FAIL(absl::StrCat(config.status().ToString(), "\n", json));
  const std::string printed = ToValue(*config).ToJson();
  const auto again = ExperimentConfigFromJson(printed);
  if (!again.ok()) RC_FAIL(absl::StrCat(again.status().ToString(), "\n", printed));
  RC_ASSERT(*again == *config);
  RC_ASSERT(ToValue(*again).ToJson() == printed);
  RC_CLASSIFY(IsRefused(*config), "refused by this cluster");
  // The same for ParseExperimentConfig.
  const auto parsed = ParseExperimentConfig(printed, "c.json", {}, {});
  if (IsRefused(*config)) {
    RC_ASSERT(!parsed.ok());
  } else {
    if (!parsed.ok()) RC_FAIL(absl::StrCat(parsed.status().ToString(), "\n", printed));
    RC_ASSERT(*parsed == *config);
  }
}

}  // namespace
}  // namespace det::model
