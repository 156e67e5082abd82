#include "base/utf8.h"

#include <string>

#include "gtest/gtest.h"

namespace det::base {
namespace {

TEST(Utf8Test, AcceptsValidText) {
  for (const char* text : {"", "plain", "\xC3\xBC", "\xE2\x82\xAC", "\xED\x9F\xBF", "\xEF\xBF\xBD",
                           "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  EXPECT_TRUE(IsUtf8(std::string("a\0b", 3)));
}

TEST(Utf8Test, RejectsInvalidText) {
  for (const char* text : {"\x80", "a\xFF", "\xC3", "\xC0\xAF", "\xE2\x82", "\xE0\x80\xAF",
                           "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80"}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
  }
}

TEST(Utf8Test, CountsCharacters) {
  EXPECT_EQ(CountCharacters(""), 0u);
  EXPECT_EQ(CountCharacters("a\u00e4\u20ac\U0001F600"), 4u);
}

}  // namespace
}  // namespace det::base
