#include "master/api/common/log_retention.h"

#include "gtest/gtest.h"

namespace det::api {
namespace {

TEST(LogRetentionTest, CountsPartialDaysFromTheEnd) {
  const absl::Time end = absl::FromUnixSeconds(1'000'000);
  EXPECT_EQ(ComputeDaysLeft(-1, end, end), -1);
  EXPECT_EQ(ComputeDaysLeft(-1, std::nullopt, end), -1);
  EXPECT_EQ(ComputeDaysLeft(3, std::nullopt, end), std::nullopt);
  EXPECT_EQ(ComputeDaysLeft(3, end, end), 3);
  EXPECT_EQ(ComputeDaysLeft(3, end, end + absl::Hours(1)), 3);
  EXPECT_EQ(ComputeDaysLeft(3, end, end + absl::Hours(24)), 2);
  EXPECT_EQ(ComputeDaysLeft(3, end, end + absl::Hours(71)), 1);
  EXPECT_EQ(ComputeDaysLeft(3, end, end + absl::Hours(72)), 0);
  EXPECT_EQ(ComputeDaysLeft(3, end, end + absl::Hours(1000)), 0);
  EXPECT_EQ(ComputeDaysLeft(3, end, end - absl::Hours(30)), 3) << "another machine's clock";
  EXPECT_EQ(ComputeDaysLeft(0, end, end), 0);
}

}  // namespace
}  // namespace det::api
