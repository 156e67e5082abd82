#include "master/parse/command.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<CommandConfig> Build(const std::string& yaml, const CommandLayers& layers = {},
                                    std::vector<std::string>* warnings = nullptr) {
  const auto document = ConfigDocument::Parse(yaml, "config");
  if (!document.ok()) return document.status();
  return BuildCommandConfig(*document, {}, layers, warnings);
}

std::string GetProblem(const std::string& yaml) {
  return std::string(Build(yaml).status().message());
}

TEST(CommandTest, ReadsOwnAndSharedFields) {
  const auto config = Build(R"(
description: say hi
entrypoint: [echo, hi]
resources: {slots: 2, priority: 7, resource_pool: gpus}
environment: {environment_variables: [A=b]}
idle_timeout: 1h30m
notebook_idle_type: activity
tensorboard_args: [--samples_per_plugin, images=5]
preemptible: true
)");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->description, "say hi");
  EXPECT_THAT(config->entrypoint, ElementsAre("echo", "hi"));
  EXPECT_EQ(config->resources.slots_per_trial, 2);
  EXPECT_EQ(config->resources.priority, 7);
  EXPECT_EQ(config->resources.resource_pool, "gpus");
  EXPECT_THAT(config->environment.variables.cuda, ElementsAre("A=b"));
  EXPECT_EQ(config->idle_timeout, absl::Minutes(90));
  EXPECT_EQ(config->notebook_idle_type, NotebookIdleType::kActivity);
  EXPECT_TRUE(config->preemptible);
}

TEST(CommandTest, HasOneSlot_WhenNothingIsGiven) {
  const auto config = Build("{}");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->resources.slots_per_trial, 1);
  EXPECT_EQ(config->idle_timeout, std::nullopt);
}

TEST(CommandTest, NamesUnknownFields) {
  EXPECT_THAT(GetProblem("descripton: x"), HasSubstr("did you mean description?"));
  EXPECT_THAT(GetProblem("searcher: {name: single}"), HasSubstr("searcher: unknown field"));
  EXPECT_THAT(GetProblem("resources: {slot: 1}"), HasSubstr("resources.slot"));
  EXPECT_THAT(GetProblem("resources: {slots_per_trial: 1}"), HasSubstr("write resources.slots"));
}

TEST(CommandTest, NamesBadValues) {
  EXPECT_THAT(GetProblem("resources: {slots: -1}"), HasSubstr("resources.slots"));
  EXPECT_THAT(GetProblem("resources: {slots: {min: 1}}"), HasSubstr("resources.slots"));
  EXPECT_THAT(GetProblem("resources: {priority: 100}"), HasSubstr("resources.priority"));
  EXPECT_THAT(GetProblem("notebook_idle_type: never"), HasSubstr("notebook_idle_type"));
  EXPECT_THAT(GetProblem("idle_timeout: soon"), HasSubstr("idle_timeout"));
  EXPECT_THAT(GetProblem("idle_timeout: 0s"), HasSubstr("idle_timeout"));
}

TEST(CommandTest, SkipsWhatATemplateHasForTrials) {
  const std::string shared = R"(
searcher: {name: single, metric: loss}
entrypoint: python3 train.py
resources: {slots_per_trial: 8, resource_pool: big, priority: 3}
environment: {environment_variables: [A=template, B=template]}
)";
  const auto config = Build("environment: {environment_variables: [A=request]}",
                            {.defaults = {}, .templates = {{"template t", shared}}});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->resources.slots_per_trial, 1);
  EXPECT_EQ(config->resources.resource_pool, "");
  EXPECT_EQ(config->resources.priority, 3);
  EXPECT_TRUE(config->entrypoint.empty());
  EXPECT_THAT(config->environment.variables.cpu,
              ElementsAre("A=template", "B=template", "A=request"));
}

TEST(CommandTest, ShowsTheConfigurationAsExistingClientsReadIt) {
  const auto config = Build("{entrypoint: [a, b], idle_timeout: 1h, resources: {slots: 0}}");
  ASSERT_TRUE(config.ok()) << config.status();
  const Value shown = ToShownValue(*config, "aux", 42);
  EXPECT_EQ(shown.Find("idle_timeout")->ToJson(), "\"1h0m0s\"");
  EXPECT_EQ(shown.Find("notebook_idle_type")->ToJson(), "\"kernels_or_terminals\"");
  EXPECT_EQ(shown.Find("entrypoint")->ToJson(), R"(["a","b"])");
  EXPECT_EQ(shown.Find("bind_mounts")->ToJson(), "null");
  EXPECT_EQ(shown.Find("resources")->Find("resource_pool")->ToJson(), "\"aux\"");
  EXPECT_EQ(shown.Find("resources")->Find("slots")->ToJson(), "0");
}

TEST(CommandTest, AppliesOverrides) {
  const auto document = ConfigDocument::Parse("resources: {slots: 4}\nentrypoint: [a]", "c.yaml");
  ASSERT_TRUE(document.ok());
  const auto config = BuildCommandConfig(*document, {"resources.slots=0", "entrypoint=[b, c]"}, {});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->resources.slots_per_trial, 0);
  EXPECT_THAT(config->entrypoint, ElementsAre("b", "c"));
}

TEST(CommandTest, RunsOnOneAgent_UnlessTheConfigurationSaysOtherwise) {
  EXPECT_TRUE(Build("{}")->resources.is_single_node);
  EXPECT_FALSE(Build("resources: {is_single_node: false}")->resources.is_single_node);
  const CommandLayers of_experiments = {
      .defaults = {}, .templates = {{"template t", "resources: {is_single_node: false}"}}};
  EXPECT_TRUE(Build("{}", of_experiments)->resources.is_single_node);
}

TEST(CommandTest, ReplacesWholeMembersOfASubmittedConfiguration) {
  const auto merge = [](const Value& base, const std::string& yaml,
                        const std::vector<std::string>& overrides = {}) {
    return MergeSubmittedConfig(base, *ConfigDocument::Parse(yaml, "config"), overrides);
  };
  const auto base = merge(Value(), "{entrypoint: [a, b], resources: {slots: 0, priority: 3}}");
  ASSERT_TRUE(base.ok()) << base.status();
  EXPECT_EQ(base->ToJson(), R"({"entrypoint":["a","b"],"resources":{"priority":3,"slots":0}})");
  const auto merged = merge(*base, "resources: {slots: 1}");
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(merged->ToJson(), R"({"entrypoint":["a","b"],"resources":{"slots":1}})");
  const auto changed = merge(*base, "resources: {slots: 1}", {"resources.slots=2", "debug=true"});
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(changed->ToJson(), R"({"debug":true,"entrypoint":["a","b"],"resources":{"slots":2}})");
  const absl::Status refused = merge(*base, "description: x\nidle_timeout: 1h").status();
  EXPECT_THAT(std::string(refused.message()), HasSubstr("config:1: description: generic tasks"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("config:2: idle_timeout: generic tasks"));
}

TEST(CommandTest, FormatsIdleTimeouts) {
  EXPECT_EQ(FormatIdleTimeout(absl::Seconds(10)), "10s");
  EXPECT_EQ(FormatIdleTimeout(absl::Minutes(30)), "30m0s");
  EXPECT_EQ(FormatIdleTimeout(absl::Hours(1)), "1h0m0s");
  EXPECT_EQ(FormatIdleTimeout(absl::Minutes(90)), "1h30m0s");
}

}  // namespace
}  // namespace det::model
