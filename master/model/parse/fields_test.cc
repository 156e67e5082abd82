#include "master/model/parse/fields.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "master/model/parse/parse.h"
#include <gtest/gtest.h>

namespace det::model {
namespace {

Value ParsedWith(const std::vector<std::string>& overrides) {
  const auto config = ParseExperimentConfig("entrypoint: x\nsearcher: {name: single, metric: m}\n",
                                            "c.yaml", overrides, {.checkpoint_host_path = "/ckpt"});
  EXPECT_TRUE(config.ok()) << config.status();
  return ToValue(*config);
}

TEST(FieldsTest, DefaultsOfTheTableAreThoseOfTheStructs) {
  const Value single = ParsedWith({});
  const Value random = ParsedWith({"searcher.name=random", "searcher.max_trials=1"});
  for (const Field& field : Fields()) {
    if (field.default_json == nullptr) continue;
    const Value* value = field.searcher == nullptr ? &single : &random;
    for (const std::string& key : std::vector<std::string>(absl::StrSplit(field.path, '.'))) {
      value = value->Find(key);
      ASSERT_NE(value, nullptr) << field.path;
    }
    EXPECT_EQ(value->ToJson(), field.default_json) << field.path;
  }
}

TEST(FieldsTest, PathsAreUniqueAndDescribed) {
  std::set<std::string> paths;
  for (const Field& field : Fields()) {
    EXPECT_TRUE(paths.insert(field.path).second) << field.path;
    EXPECT_NE(std::string(field.description), "") << field.path;
    EXPECT_EQ(field.target != nullptr, field.role == Field::Role::kValue) << field.path;
    EXPECT_NE(Expected(field), "") << field.path;
  }
}

TEST(SuggestTest, PrefersANearNameOverTheList) {
  EXPECT_EQ(Suggest("max_trails", {"max_trials", "metric"}), "did you mean max_trials?");
  EXPECT_EQ(Suggest("q", {"a", "b"}), "known here: a, b");
  EXPECT_EQ(Suggest("max_trials", {"name"}), "did you mean searcher.max_trials?");
}

// Every leaf that the API shows is a field that a user can set.
void ExpectKnown(const Value& value, const std::string& path) {
  const Field* field = FindField(path);
  ASSERT_NE(field, nullptr) << path;
  if (field->role != Field::Role::kSection) return;
  for (const auto& [key, member] : *value.AsObject()) ExpectKnown(member, path + "." + key);
}

TEST(FieldsTest, EverythingThatIsShownHasARow) {
  const Value shown = ParsedWith({"searcher.name=random", "searcher.max_trials=1"});
  for (const auto& [key, member] : *shown.AsObject()) ExpectKnown(member, key);
}

}  // namespace
}  // namespace det::model
