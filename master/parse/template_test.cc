#include "master/parse/template.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/parse/parse.h"

namespace det::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TemplateTest, AcceptsPartialConfiguration) {
  const auto given = ParseTemplate("resources:\n  slots_per_trial: 8\n", "large");
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_EQ(given->ToJson(), R"({"resources":{"slots_per_trial":8}})");
  EXPECT_TRUE(ParseTemplate("", "empty").ok());
}

TEST(TemplateTest, RejectsInvalidFields) {
  const auto message = [](const char* yaml) {
    return std::string(ParseTemplate(yaml, "t").status().message());
  };
  EXPECT_THAT(message("resources:\n  slots_per_trial: two\n"),
              HasSubstr("template t:2: resources.slots_per_trial: expected an integer"));
  EXPECT_THAT(message("resourcs: {}"),
              HasSubstr("template t:1: resourcs: unknown field; did you mean"));
  EXPECT_THAT(message("- a"), HasSubstr("template t: expected a map"));
  EXPECT_THAT(message("searcher: {max_trials: -1}\nname: [x]\n"), HasSubstr("template t:2: name"));
}

TEST(TemplateTest, ReadsAnyMapAsGiven) {
  const auto given = ReadTemplate("no_such_setting: 1\nmax_restarts: many\n", "t");
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_EQ(given->ToJson(), R"({"max_restarts":"many","no_such_setting":1})");
  EXPECT_EQ(ReadTemplate("", "t")->ToJson(), "{}");
  EXPECT_FALSE(ReadTemplate("- a", "t").ok());
}

TEST(TemplateTest, DropsFieldsOfCommandsWithWarning) {
  std::vector<std::string> warnings;
  const std::string text = "resources:\n  slots: 0\n  weight: 2\n";
  EXPECT_EQ(*ReadTemplateOfExperiment(text, "t", warnings), R"({"resources":{"weight":2}})");
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("template t:2: resources.slots: ignored")));
  EXPECT_EQ(*ReadTemplateOfExperiment("max_restarts: 1 # kept", "t", warnings),
            "max_restarts: 1 # kept");
}

TEST(TemplateTest, IsMergedBelowConfiguration) {
  ConfigDefaults defaults;
  defaults.checkpoint_host_path = "/ckpt";
  defaults.below.push_back({"template t", "max_restarts: 1\nresources: {slots_per_trial: 8}\n"});
  const auto config =
      ParseExperimentConfig("entrypoint: x\nmax_restarts: 3\nsearcher: {name: single, metric: m}\n",
                            "a.yaml", {"resources.priority=7"}, defaults);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->max_restarts, 3);
  EXPECT_EQ(config->resources.slots_per_trial, 8);
  EXPECT_EQ(config->resources.priority, 7);
}

}  // namespace
}  // namespace det::model
