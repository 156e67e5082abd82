#include "master/api/trials/downsample.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::api {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(DownsampleTest, KeepsAllOfFewPoints) {
  EXPECT_THAT(Downsample({}, 10), IsEmpty());
  EXPECT_THAT(Downsample({1, 5, 2}, 10), ElementsAre(0, 1, 2));
}

TEST(DownsampleTest, KeepsEndsAndExtremes) {
  std::vector<double> values(1000, 1.0);
  values[333] = 100;
  values[700] = -100;
  const std::vector<size_t> kept = Downsample(values, 20);
  EXPECT_LE(kept.size(), 20u);
  EXPECT_EQ(kept.front(), 0u);
  EXPECT_EQ(kept.back(), 999u);
  EXPECT_THAT(kept, Contains(333u));
  EXPECT_THAT(kept, Contains(700u));
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
}

TEST(DownsampleTest, KeepsFewerPointsOfFlatCurve) {
  EXPECT_EQ(Downsample(std::vector<double>(100, 2.0), 10).size(), 6u);
}

}  // namespace
}  // namespace det::api
