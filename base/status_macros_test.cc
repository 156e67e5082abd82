#include "base/status_macros.h"

#include <memory>

#include <gtest/gtest.h>

namespace det::base {
namespace {

absl::StatusOr<std::unique_ptr<int>> Make(int value) {
  if (value < 0) return absl::OutOfRangeError("negative");
  return std::make_unique<int>(value);
}

absl::StatusOr<int> Sum(int a, int b) {
  DET_ASSIGN_OR_RETURN(const std::unique_ptr<int> first, Make(a));
  std::unique_ptr<int> second;
  DET_ASSIGN_OR_RETURN(second, Make(b));
  return *first + *second;
}

absl::Status Both(const absl::Status& a, const absl::StatusOr<int>& b) {
  DET_RETURN_IF_ERROR(a);
  DET_RETURN_IF_ERROR(b);
  return absl::OkStatus();
}

TEST(StatusMacrosTest, AssignOrReturnAssignsOrReturnsError) {
  EXPECT_EQ(*Sum(1, 2), 3);
  EXPECT_EQ(Sum(-1, 2).status(), absl::OutOfRangeError("negative"));
  EXPECT_EQ(Sum(1, -2).status(), absl::OutOfRangeError("negative"));
}

TEST(StatusMacrosTest, ReturnIfErrorReturnsError) {
  EXPECT_TRUE(Both(absl::OkStatus(), 1).ok());
  EXPECT_EQ(Both(absl::AbortedError("a"), 1), absl::AbortedError("a"));
  EXPECT_EQ(Both(absl::OkStatus(), absl::AbortedError("b")), absl::AbortedError("b"));
}

}  // namespace
}  // namespace det::base
