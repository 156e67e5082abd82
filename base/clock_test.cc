#include "base/clock.h"

#include <gtest/gtest.h>

namespace det::base {
namespace {

TEST(ClockTest, FakeClockMovesOnlyWhenSet) {
  FakeClock clock(absl::FromUnixSeconds(100));
  EXPECT_EQ(clock.Now(), absl::FromUnixSeconds(100));
  clock.Advance(absl::Seconds(5));
  EXPECT_EQ(clock.Now(), absl::FromUnixSeconds(105));
  clock.Set(absl::FromUnixSeconds(1));
  EXPECT_EQ(clock.Now(), absl::FromUnixSeconds(1));
}

TEST(ClockTest, RealClockReturnsCurrentTime) {
  const RealClock clock;
  EXPECT_GT(clock.Now(), absl::FromCivil(absl::CivilDay(2020, 1, 1), absl::UTCTimeZone()));
}

}  // namespace
}  // namespace det::base
