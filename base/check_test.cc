#include "base/check.h"

#include <gtest/gtest.h>

namespace det::base {
namespace {

TEST(CheckTest, ContinuesSilently_WhenConditionHolds) {
  DET_CHECK(1 + 1 == 2) << "not evaluated";
  DET_CHECK_OK(absl::OkStatus());
  DET_CHECK_OK(absl::StatusOr<int>(3));
}

TEST(CheckTest, BindsAsOneStatement) {
  bool other = false;
  if (false)
    DET_CHECK(true);
  else
    other = true;
  EXPECT_TRUE(other);
}

TEST(CheckDeathTest, PrintsPlaceConditionAndMessage_WhenConditionFails) {
  EXPECT_DEATH(DET_CHECK(1 == 2) << "value " << 7, "check_test.cc:[0-9]+: .*1 == 2 value 7");
  EXPECT_DEATH(DET_CHECK_OK(absl::NotFoundError("trial 3")) << "loading",
               "NOT_FOUND: trial 3 load");
}

}  // namespace
}  // namespace det::base
