#include "master/auth/failed_logins.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace det::auth {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

TEST(FailedLoginsTest, DelaysMoreAfterFiveFailures) {
  FailedLogins logins;
  for (int i = 0; i < FailedLogins::kFreeFailures; ++i) {
    EXPECT_EQ(logins.GetDelay("ann", kNow), absl::ZeroDuration()) << i;
    logins.Failed("ann", kNow);
  }
  absl::Duration expected = FailedLogins::kInitialDelay;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(logins.GetDelay("Ann", kNow), std::min(expected, FailedLogins::kMaxDelay)) << i;
    logins.Failed("ANN", kNow);
    expected *= 2;
  }
  EXPECT_EQ(logins.GetDelay("ben", kNow), absl::ZeroDuration());
}

TEST(FailedLoginsTest, ResetsAfterSuccessOrTime) {
  FailedLogins logins;
  for (int i = 0; i < 10; ++i) logins.Failed("ann", kNow);
  const absl::Time later = kNow + FailedLogins::kForgetAfter;
  EXPECT_GT(logins.GetDelay("ann", later), absl::ZeroDuration());
  EXPECT_EQ(logins.GetDelay("ann", later + absl::Seconds(1)), absl::ZeroDuration());
  logins.Failed("ann", later + absl::Seconds(1));
  EXPECT_EQ(logins.GetDelay("ann", later + absl::Seconds(1)), absl::ZeroDuration())
      << "counting starts again";
  for (int i = 0; i < 10; ++i) logins.Failed("ben", kNow);
  logins.Succeeded("BEN");
  EXPECT_EQ(logins.GetDelay("ben", kNow), absl::ZeroDuration());
}

TEST(FailedLoginsTest, KeepsTargetedUser_WhenNamesAreMadeUp) {
  FailedLogins logins;
  for (int i = 0; i < 10; ++i) logins.Failed("ann", kNow);
  const absl::Duration slow = logins.GetDelay("ann", kNow);
  for (size_t i = 0; i < FailedLogins::kMaxUsers + 10; ++i) {
    logins.Failed(absl::StrCat("nobody-", i), kNow);
  }
  EXPECT_EQ(logins.GetDelay("ann", kNow), slow);
}

}  // namespace
}  // namespace det::auth
