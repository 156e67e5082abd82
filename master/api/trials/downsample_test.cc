#include "master/api/trials/downsample.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::api {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(ThinTest, FewPointsStay) {
  EXPECT_THAT(Thin({}, 10), IsEmpty());
  EXPECT_THAT(Thin({1, 5, 2}, 10), ElementsAre(0, 1, 2));
}

TEST(ThinTest, EndsPeaksAndDipsStay) {
  std::vector<double> values(1000, 1.0);
  values[333] = 100;
  values[700] = -100;
  const std::vector<size_t> kept = Thin(values, 20);
  EXPECT_LE(kept.size(), 20u);
  EXPECT_EQ(kept.front(), 0u);
  EXPECT_EQ(kept.back(), 999u);
  EXPECT_THAT(kept, Contains(333u));
  EXPECT_THAT(kept, Contains(700u));
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
}

TEST(ThinTest, AFlatCurveNeedsFewer) {
  EXPECT_EQ(Thin(std::vector<double>(100, 2.0), 10).size(), 6u);
}

}  // namespace
}  // namespace det::api
