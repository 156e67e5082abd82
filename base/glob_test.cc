#include "base/glob.h"

#include <string>

#include <gtest/gtest.h>

namespace det::base {
namespace {

bool Matches(const std::string& pattern, const std::string& path) {
  return Glob(pattern).Matches(path);
}

TEST(GlobTest, MatchesWholePath) {
  EXPECT_TRUE(Matches("a/b", "a/b"));
  EXPECT_FALSE(Matches("b", "a/b"));
  EXPECT_FALSE(Matches("a", "a/b"));
  EXPECT_FALSE(Matches("A", "a"));
  EXPECT_TRUE(Matches("a.b", "a.b"));
  EXPECT_FALSE(Matches("a.b", "axb"));
}

TEST(GlobTest, SingleStarDoesNotMatchSlash) {
  EXPECT_TRUE(Matches("*", "a"));
  EXPECT_TRUE(Matches("*", ".hidden"));
  EXPECT_FALSE(Matches("*", "a/b"));
  EXPECT_TRUE(Matches("*/b?", "a/bc"));
  EXPECT_FALSE(Matches("a?b", "a/b"));
  EXPECT_TRUE(Matches("x[0-9]", "x7"));
  EXPECT_FALSE(Matches("x[!0-9]", "x7"));
  EXPECT_TRUE(Matches("a[", "a["));
  EXPECT_TRUE(Matches("\\*", "*"));
  EXPECT_FALSE(Matches("\\*", "a"));
}

TEST(GlobTest, DoubleStarMatchesAnyNumberOfDirectories) {
  for (const char* path : {"b", "a/b", "a/a/b"}) EXPECT_TRUE(Matches("**/b", path)) << path;
  EXPECT_FALSE(Matches("**/b", "b/a"));
  EXPECT_TRUE(Matches("a/**/b/**/c", "a/x/b/b/y/c"));
  EXPECT_FALSE(Matches("a/**/b/**/c", "a/x/c"));
  EXPECT_TRUE(Matches("**", "a/b/c"));
  EXPECT_TRUE(Matches("a/**", "a/b/c"));
  EXPECT_TRUE(Matches("a/", "a/b/c"));
  EXPECT_FALSE(Matches("a/", "ab/c"));
  EXPECT_FALSE(Matches("a**", "a/b")) << "only as a whole part";
}

TEST(GlobTest, MatchesQuickly_WhenPatternHasManyStars) {
  std::string pattern = "x";
  std::string path = "b";
  for (int i = 0; i < 100; ++i) pattern = "**/*a*/" + pattern;
  for (int i = 0; i < 500; ++i) path = "aaaaaaaaaaaaaaaaaaaa/" + path;
  EXPECT_FALSE(Matches(pattern, path));
}

}  // namespace
}  // namespace det::base
