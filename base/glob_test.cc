#include "base/glob.h"

#include <string>

#include <gtest/gtest.h>

namespace det::base {
namespace {

bool Fits(const std::string& pattern, const std::string& path) { return Glob(pattern).Fits(path); }

TEST(GlobTest, StandsForTheWholePath) {
  EXPECT_TRUE(Fits("a/b", "a/b"));
  EXPECT_FALSE(Fits("b", "a/b"));
  EXPECT_FALSE(Fits("a", "a/b"));
  EXPECT_FALSE(Fits("A", "a"));
  EXPECT_TRUE(Fits("a.b", "a.b"));
  EXPECT_FALSE(Fits("a.b", "axb"));
}

TEST(GlobTest, StarsStayWithinAFolder) {
  EXPECT_TRUE(Fits("*", "a"));
  EXPECT_TRUE(Fits("*", ".hidden"));
  EXPECT_FALSE(Fits("*", "a/b"));
  EXPECT_TRUE(Fits("*/b?", "a/bc"));
  EXPECT_FALSE(Fits("a?b", "a/b"));
  EXPECT_TRUE(Fits("x[0-9]", "x7"));
  EXPECT_FALSE(Fits("x[!0-9]", "x7"));
  EXPECT_TRUE(Fits("a[", "a["));
  EXPECT_TRUE(Fits("\\*", "*"));
  EXPECT_FALSE(Fits("\\*", "a"));
}

TEST(GlobTest, TwoStarsAreAnyNumberOfFolders) {
  for (const char* path : {"b", "a/b", "a/a/b"}) EXPECT_TRUE(Fits("**/b", path)) << path;
  EXPECT_FALSE(Fits("**/b", "b/a"));
  EXPECT_TRUE(Fits("a/**/b/**/c", "a/x/b/b/y/c"));
  EXPECT_FALSE(Fits("a/**/b/**/c", "a/x/c"));
  EXPECT_TRUE(Fits("**", "a/b/c"));
  EXPECT_TRUE(Fits("a/**", "a/b/c"));
  EXPECT_TRUE(Fits("a/", "a/b/c"));
  EXPECT_FALSE(Fits("a/", "ab/c"));
  EXPECT_FALSE(Fits("a**", "a/b")) << "only as a whole part";
}

TEST(GlobTest, ManyStarsAreNoLabour) {
  std::string pattern = "x", path = "b";
  for (int i = 0; i < 100; ++i) pattern = "**/*a*/" + pattern;
  for (int i = 0; i < 500; ++i) path = "aaaaaaaaaaaaaaaaaaaa/" + path;
  EXPECT_FALSE(Fits(pattern, path));
}

}  // namespace
}  // namespace det::base
