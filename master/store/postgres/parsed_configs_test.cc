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

TEST(ParsedConfigsTest, ReturnsCachedObject) {
  ParsedConfigs configs(4 * Text(1).size() + 8);
  const auto first = *configs.Parse(Text(1));
  EXPECT_EQ(first->name, "experiment 1");
  EXPECT_EQ(*configs.Parse(Text(1)), first);
  for (int i = 2; i <= 5; ++i)
    EXPECT_EQ((*configs.Parse(Text(i)))->name, absl::StrCat("experiment ", i));
  EXPECT_EQ(*configs.Parse(Text(1)), first) << "an entry of the previous generation";
  for (int i = 6; i <= 20; ++i) ASSERT_TRUE(configs.Parse(Text(i)).ok());
  EXPECT_NE(*configs.Parse(Text(1)), first) << "forgotten";
}

TEST(ParsedConfigsTest, DoesNotCacheErrors) {
  ParsedConfigs configs;
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(configs.Parse("{").ok());
}

TEST(ParsedConfigsTest, DoesNotCacheHugeConfig) {
  ParsedConfigs configs(10);
  EXPECT_EQ((*configs.Parse(Text(1)))->name, "experiment 1");
  EXPECT_EQ((*configs.Parse(Text(1)))->name, "experiment 1");
}

}  // namespace
}  // namespace det::store
