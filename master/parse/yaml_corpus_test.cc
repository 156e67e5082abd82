// Compares what this service reads from YAML with what existing clients read (yaml_corpus.py).
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "master/core/model/value.h"
#include "master/parse/config_node.h"
#include "master/parse/testing.h"
#include <gtest/gtest.h>

namespace det::model {
namespace {

Value ReadCorpus() {
  const auto text = base::ReadFile("master/parse/yaml_corpus.json");
  EXPECT_TRUE(text.ok()) << text.status();
  return *Value::FromJson(*text);
}

// Returns what this service reads: what existing clients read, unless the entry says otherwise.
std::string Expected(const Value& entry) {
  const Value* here = entry.Find("here");
  const Value* value = (here == nullptr ? &entry : here)->Find("value");
  return entry.Find("refused") != nullptr || value == nullptr ? "an error" : value->ToJson();
}

std::string Read(const std::string& text) {
  const auto node = ReadYaml(text, "corpus", true);
  return node.ok() ? node->ToValue().ToJson() : "an error";
}

TEST(YamlCorpusTest, ReadsSameValuesAsExistingClients) {
  const Value corpus = ReadCorpus();
  for (const Value& entry : *corpus.Find("documents")->AsList()) {
    const std::string& text = *entry.Find("yaml")->AsString();
    EXPECT_EQ(Read(text), Expected(entry)) << text;
  }
}

// A field of each type, and which values it takes.
struct Place {
  const char* path;
  bool (*takes)(const Value& value);
};

bool IsCount(const Value& value) {
  const std::optional<double> number = value.AsNumber();
  return number && *number >= 0 && *number < 1e9 && std::floor(*number) == *number;
}

constexpr Place kPlaces[] = {
    {"max_restarts", IsCount},
    {"resources.weight", [](const Value& value) { return value.AsNumber().value_or(0) > 0; }},
    {"debug", [](const Value& value) { return value.AsBool() != nullptr; }},
    {"description", [](const Value& value) { return value.AsString() != nullptr; }},
    {"data.x", [](const Value&) { return true; }},
    {"hyperparameters.x", [](const Value&) { return true; }},
};

// Returns "" if the configuration has the value at the path, or refuses it where it must.
std::string Compare(const absl::StatusOr<ExperimentConfig>& config, const Place& place,
                    const Value& value) {
  if (value.is_null()) return config.ok() ? "" : config.status().ToString();
  if (config.ok() != place.takes(value))
    return config.ok() ? "accepted" : config.status().ToString();
  if (!config.ok()) return "";
  const Value written = ToValue(*config);
  const Value* found = &written;
  for (const absl::string_view key : absl::StrSplit(place.path, '.')) {
    found = found == nullptr ? nullptr : found->Find({key.data(), key.size()});
  }
  if (found == nullptr) return "not there";
  if (found->AsNumber() && found->AsNumber() == value.AsNumber()) return "";
  return *found == value || found->ToJson() ==
                                absl::StrCat("{\"type\":\"const\",\"val\":", value.ToJson(), "}")
             ? ""
             : found->ToJson();
}

TEST(YamlCorpusTest, TakesSameScalarsInFieldsAndOverrides) {
  const Value corpus = ReadCorpus();
  for (const Value& entry : *corpus.Find("scalars")->AsList()) {
    const std::string& text = *entry.Find("yaml")->AsString();
    const Value* value =
        (entry.Find("here") == nullptr ? &entry : entry.Find("here"))->Find("value");
    if (value == nullptr || entry.Find("refused") != nullptr || text.find(',') != text.npos)
      continue;
    if (value->AsList() != nullptr) continue;  // "-" is a list
    for (const Place& place : kPlaces) {
      const std::vector<std::string> keys = absl::StrSplit(place.path, '.');
      const std::string yaml = absl::StrCat(kMinimal, keys[0], keys.size() > 1 ? ":\n  " : "",
                                            keys.size() > 1 ? keys[1] : "", ": ", text, "\n");
      EXPECT_EQ(Compare(Parse(yaml), place, *value), "") << yaml;
      const std::string assignment = absl::StrCat(place.path, "=", text);
      EXPECT_EQ(Compare(Parse(kMinimal, {assignment}), place, *value), "") << assignment;
    }
  }
}

}  // namespace
}  // namespace det::model
