#include "master/core/model/fields.h"

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "master/core/model/fields_page.h"
#include "master/parse/read.h"
#include "master/parse/testing.h"
#include <gtest/gtest.h>

namespace det::model {
namespace {

// Returns a configuration to which the field applies and in which it is not set.
absl::StatusOr<ExperimentConfig> MakeConfigFor(const Field& field) {
  std::string searcher = "single";
  std::string storage = "shared_fs";
  if (field.only_for != nullptr) {
    const bool of_searcher = std::string(field.path).starts_with("searcher.");
    for (const std::string& word : SplitWords(field.only_for)) {
      if (field.required_for != nullptr && IsAmong(field.required_for, word)) continue;
      (of_searcher ? searcher : storage) = word;
    }
  }
  const std::string yaml =
      absl::StrCat("entrypoint: x\nsearcher: ", MakeSearcher(searcher), R"(
resources: {devices: ["/dev/a:/dev/b"]}
environment: {proxy_ports: [{proxy_port: 1}]}
bind_mounts: [{host_path: /a, container_path: /a}]
log_policies: [{name: mine}]
checkpoint_storage: {type: )",
                   storage, storage == "shared_fs" ? "" : R"(, bucket: b, container: c,
  container_path: /c)",
                   "}\n");
  const absl::StatusOr<ExperimentConfig> config = Parse(yaml);
  if (config.ok()) return config;
  // The table also has storage types that this cluster does not support.
  ExperimentConfig made = *Parse(kMinimal);
  made.checkpoint_storage.type = storage;
  return made;
}

TEST(FieldsTest, MatchesDefaultsOfStructs) {
  for (const Field& field : Fields()) {
    if (field.default_json == nullptr || field.role == Field::Role::kIgnored) continue;
    auto config = MakeConfigFor(field);
    ASSERT_TRUE(config.ok()) << field.path << ": " << config.status();
    ASSERT_TRUE(AppliesTo(field, *config)) << field.path;
    // These lists have items so that the fields of items exist.
    if (field.role == Field::Role::kList) config = Parse(kMinimal);
    // Two policies are built in.
    const size_t item = std::string(field.path).starts_with("log_policies[].") ? 2 : 0;
    EXPECT_EQ(FieldValue(field, *config, item).ToJson(), field.default_json) << field.path;
  }
}

TEST(FieldsTest, HasValidRows) {
  std::set<std::string> paths;
  for (const Field& field : Fields()) {
    EXPECT_TRUE(paths.insert(field.path).second) << field.path;
    const std::string description = field.description;
    EXPECT_TRUE(description.ends_with('.') || field.role == Field::Role::kRemoved) << field.path;
    const bool has_place = field.role == Field::Role::kValue || field.role == Field::Role::kList;
    EXPECT_EQ(field.target != nullptr, has_place) << field.path;
    EXPECT_NE(ExperimentFields().Expected(field), "") << field.path;
    // The section that contains it is a row too.
    const std::string path = field.path;
    const size_t dot = path.rfind('.');
    if (dot != path.npos) {
      std::string around = path.substr(0, dot);
      if (around.ends_with("[]")) around.resize(around.size() - 2);
      EXPECT_NE(FindField(around), nullptr) << path;
    }
    for (const char* kinds : {field.only_for, field.required_for, field.ignored_for}) {
      if (kinds == nullptr) continue;
      ASSERT_NE(KindField(path), nullptr) << path;
      for (const std::string& word : SplitWords(kinds)) {
        EXPECT_TRUE(IsAmong(KindField(path)->choices, word)) << path << " " << word;
      }
    }
    if (field.merge == Field::Merge::kByKey) {
      ASSERT_NE(field.key, nullptr) << path;
      const Field* key = FindField(path + "[]." + field.key);
      ASSERT_NE(key, nullptr) << path;
      EXPECT_TRUE(key->required) << path;
    }
  }
}

// Every leaf that the API shows is a field that a user can set.
void ExpectKnown(const Value& value, const std::string& path) {
  const Field* field = FindField(path);
  ASSERT_NE(field, nullptr) << path;
  if (field->role != Field::Role::kSection || value.AsObject() == nullptr) return;
  for (const auto& [key, member] : *value.AsObject()) ExpectKnown(member, path + "." + key);
}

TEST(FieldsTest, HasRowForEveryShownField) {
  for (const std::string& name : SplitWords(FindField("searcher.name")->choices)) {
    const auto config = Parse(absl::StrCat("entrypoint: x\nsearcher: ", MakeSearcher(name)));
    ASSERT_TRUE(config.ok()) << name << ": " << config.status();
    const Value shown = ToValue(*config);
    for (const auto& [key, member] : *shown.AsObject()) ExpectKnown(member, key);
  }
}

TEST(FieldsTest, HidesSecrets) {
  ExperimentConfig config = *Parse(absl::StrCat(
      kMinimal, "data: {secrets: {token: t1, list: [t2, {deep: t3}], none: null}, open: o}\n",
      "environment: {registry_auth: {username: me, password: t4}}\n",
      "integrations: {pachyderm: {dataset: {token: t5}}}\n"));
  config.checkpoint_storage = {.type = "s3", .bucket = "b", .access_key = "t6", .secret_key = "t7"};
  const std::string shown = ToShownValue(config).ToJson();
  for (const char* secret : {"t1", "t2", "t3", "t4", "t5", "t6", "t7", "\"me\""}) {
    EXPECT_EQ(shown.find(secret), shown.npos) << secret << " in " << shown;
    EXPECT_NE(ToValue(config).ToJson().find(secret), shown.npos) << secret;
  }
  EXPECT_NE(shown.find("\"open\":\"o\""), shown.npos);
  EXPECT_TRUE(HasSecrets(config));
}

// Clients send a configuration back that they have read.
TEST(FieldsTest, AcceptsDefaultsAsShown) {
  const ExperimentConfig config = *Parse(kMinimal);
  const Value shown = ToShownValue(config);
  const Value& environment = *shown.Find("environment");
  EXPECT_TRUE(shown.Find("description")->is_null());
  EXPECT_TRUE(environment.Find("pod_spec")->is_null());
  EXPECT_EQ(environment.Find("image")->ToJson(), R"({"cpu":"","cuda":"","rocm":""})");
  EXPECT_TRUE(shown.Find("resources")->Find("is_single_node")->is_null());
  EXPECT_EQ(*shown.Find("optimizations")->Find("gradient_compression"), Value(false));
  std::vector<std::string> warnings;
  const auto again = Parse(shown.ToJson(), {}, &warnings);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, config);
  EXPECT_TRUE(warnings.empty()) << warnings.front();
  for (const Field& field : Fields()) {
    if (field.shown_default == nullptr) continue;
    EXPECT_NE(field.default_json, nullptr) << field.path;
    EXPECT_TRUE(Value::FromJson(field.shown_default).ok()) << field.path;
  }
}

TEST(FieldsTest, ShowsValuesThatAreNotDefaults) {
  const ExperimentConfig config = *Parse(
      absl::StrCat(kMinimal, "description: d\nresources: {is_single_node: true}\n",
                   "environment: {image: i}\noptimizations: {gradient_compression: int8}\n"));
  const Value shown = ToShownValue(config);
  EXPECT_EQ(*shown.Find("description"), Value("d"));
  EXPECT_EQ(*shown.Find("resources")->Find("is_single_node"), Value(true));
  EXPECT_EQ(*shown.Find("environment")->Find("image")->Find("cpu"), Value("i"));
  EXPECT_EQ(*shown.Find("optimizations")->Find("gradient_compression"), Value("int8"));
  EXPECT_FALSE(HasSecrets(config));
}

TEST(FieldsTest, GeneratesCommittedPage) {
  const auto page = base::ReadFile("docs/reference/experiment-config.md");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(*page, ExperimentConfigPage())
      << "run: bazel run //tools:experiment_config_doc > docs/reference/experiment-config.md";
}

TEST(SuggestTest, PrefersSimilarName) {
  EXPECT_EQ(Suggest(ExperimentFields(), "max_trails", {"max_trials", "metric"}),
            "did you mean max_trials?");
  EXPECT_EQ(Suggest(ExperimentFields(), "q", {"a", "b"}), "expected one of a, b");
  EXPECT_EQ(Suggest(ExperimentFields(), "max_trials", {"name"}),
            "did you mean searcher.max_trials?");
}

}  // namespace
}  // namespace det::model
