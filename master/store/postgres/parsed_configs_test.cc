#include "master/store/postgres/parsed_configs.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "master/store/testing/make_rows.h"

namespace det::store {
namespace {

std::string Text(int number) {
  return model::ToValue(*MakeConfig(absl::StrCat("experiment ", number))).ToJson();
}

absl::StatusOr<ParsedConfigs::Config> Parse(ParsedConfigs& configs, const std::string& json,
                                            const std::string& suffix = "") {
  return configs.Parse(json, suffix,
                       [&](model::ExperimentConfig& config) { config.name += suffix; });
}

TEST(ParsedConfigsTest, ReturnsCachedObject) {
  ParsedConfigs configs(4 * Text(1).size() + 8);
  const auto first = *Parse(configs, Text(1));
  EXPECT_EQ(first->name, "experiment 1");
  EXPECT_EQ(*Parse(configs, Text(1)), first);
  for (int i = 2; i <= 20; ++i) {
    EXPECT_EQ((*Parse(configs, Text(i)))->name, absl::StrCat("experiment ", i));
  }
  EXPECT_NE(*Parse(configs, Text(1)), first) << "forgotten";
}

TEST(ParsedConfigsTest, AppliesChange) {
  ParsedConfigs configs;
  const auto plain = *Parse(configs, Text(1));
  const auto changed = *Parse(configs, Text(1), " changed");
  EXPECT_EQ(plain->name, "experiment 1");
  EXPECT_EQ(changed->name, "experiment 1 changed");
  EXPECT_EQ(*Parse(configs, Text(1), " changed"), changed);
  EXPECT_EQ(*Parse(configs, Text(1)), plain);
}

TEST(ParsedConfigsTest, DoesNotCacheErrors) {
  ParsedConfigs configs;
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(Parse(configs, "{").ok());
}

TEST(ParsedConfigsTest, DoesNotCacheHugeConfig) {
  ParsedConfigs configs(10);
  EXPECT_EQ((*Parse(configs, Text(1)))->name, "experiment 1");
  EXPECT_EQ((*Parse(configs, Text(1)))->name, "experiment 1");
}

}  // namespace
}  // namespace det::store
