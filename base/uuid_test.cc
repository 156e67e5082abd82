#include "base/uuid.h"

#include <set>

#include <gtest/gtest.h>

namespace det::base {
namespace {

TEST(UuidTest, HasFormOfVersion4) {
  for (int i = 0; i < 100; ++i) {
    const std::string uuid = NewUuid();
    EXPECT_TRUE(IsUuid(uuid)) << uuid;
    EXPECT_EQ(uuid[14], '4');
    EXPECT_NE(std::string("89ab").find(uuid[19]), std::string::npos);
  }
}

TEST(UuidTest, IsUnique) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(NewUuid());
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(UuidTest, RejectsOtherText) {
  for (const char* text :
       {"", "x", "0b2f6c1e-7a54-4d0b-9c3e-5f2a1d8e7b6", "0B2F6C1E-7A54-4D0B-9C3E-5F2A1D8E7B60",
        "0b2f6c1e07a54-4d0b-9c3e-5f2a1d8e7b60"}) {
    EXPECT_FALSE(IsUuid(text)) << text;
  }
}

}  // namespace
}  // namespace det::base
