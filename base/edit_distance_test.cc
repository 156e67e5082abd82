#include "base/edit_distance.h"

#include "gtest/gtest.h"

namespace det::base {
namespace {

TEST(EditDistanceTest, CountsAddedRemovedAndReplacedBytes) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("abc", ""), 3u);
  EXPECT_EQ(EditDistance("expriment", "experiment"), 1u);
  EXPECT_EQ(EditDistance("rank_idz", "rankIds"), 3u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
}

}  // namespace
}  // namespace det::base
