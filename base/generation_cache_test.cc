#include "base/generation_cache.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::base {
namespace {

using testing::Optional;

TEST(GenerationCacheTest, KeepsEntriesThatAreUsed) {
  GenerationCache<int, std::string> cache(4);
  for (int i = 1; i <= 5; ++i) {
    cache.Keep(i, std::to_string(i), 1);
    EXPECT_THAT(cache.Find(1), Optional(std::string("1"))) << i;
  }
  for (int i = 6; i <= 13; ++i) cache.Keep(i, "", 1);
  EXPECT_EQ(cache.Find(1), std::nullopt) << "unused for two generations";
}

TEST(GenerationCacheTest, KeepsFirstValue) {
  GenerationCache<int, std::string> cache(4);
  cache.Keep(1, "first", 1);
  cache.Keep(1, "second", 1);
  EXPECT_THAT(cache.Find(1), Optional(std::string("first")));
}

TEST(GenerationCacheTest, SkipsEntriesLargerThanGeneration) {
  GenerationCache<int, std::string> cache(4);
  cache.Keep(1, "small", 4);
  cache.Keep(2, "large", 5);
  EXPECT_EQ(cache.Find(2), std::nullopt);
  EXPECT_THAT(cache.Find(1), Optional(std::string("small")));
}

}  // namespace
}  // namespace det::base
