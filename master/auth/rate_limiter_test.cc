#include "master/auth/rate_limiter.h"

#include <string>

#include "gtest/gtest.h"

namespace det::auth {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'000'000);

TEST(RateLimiterTest, AllowsBurstThenRate) {
  RateLimiter limits({.requests_per_second = 10});
  absl::Time now = kStart;
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(limits.Take("a", now).has_value()) << i;
  const auto wait = limits.Take("a", now);
  ASSERT_TRUE(wait.has_value());
  EXPECT_EQ(*wait, absl::Milliseconds(100));
  now += *wait;
  EXPECT_FALSE(limits.Take("a", now).has_value());
  EXPECT_TRUE(limits.Take("a", now).has_value());
  // An idle token saves no more than the burst.
  now += absl::Hours(1);
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(limits.Take("a", now).has_value()) << i;
  EXPECT_TRUE(limits.Take("a", now).has_value());
}

TEST(RateLimiterTest, LimitsTokensIndependently) {
  RateLimiter limits({.requests_per_second = 1});
  EXPECT_FALSE(limits.Take("a", kStart).has_value());
  EXPECT_FALSE(limits.Take("a", kStart).has_value());
  EXPECT_TRUE(limits.Take("a", kStart).has_value());
  EXPECT_FALSE(limits.Take("b", kStart).has_value());
}

TEST(RateLimiterTest, IgnoresClockSetBack) {
  RateLimiter limits({.requests_per_second = 1});
  limits.Take("a", kStart);
  limits.Take("a", kStart);
  EXPECT_TRUE(limits.Take("a", kStart - absl::Hours(1)).has_value());
  EXPECT_TRUE(limits.Take("a", kStart).has_value());
  EXPECT_FALSE(limits.Take("a", kStart + absl::Seconds(1)).has_value());
}

TEST(RateLimiterTest, ForgetsIdleTokens) {
  RateLimiter limits({.requests_per_second = 10});
  for (int i = 0; i < 100'000; ++i) {
    limits.Take(std::to_string(i), kStart + absl::Milliseconds(i));
  }
  EXPECT_LT(limits.tokens(), 5000u);
}

TEST(RateLimiterTest, LimitsStreamsPerUser) {
  RateLimiter limits({.streams_per_user = 2});
  const model::UserId one(1);
  EXPECT_TRUE(limits.OpenStream(one));
  EXPECT_TRUE(limits.OpenStream(one));
  EXPECT_FALSE(limits.OpenStream(one));
  EXPECT_TRUE(limits.OpenStream(model::UserId(2)));
  limits.CloseStream(one);
  EXPECT_TRUE(limits.OpenStream(one));
  EXPECT_FALSE(limits.OpenStream(one));
}

}  // namespace
}  // namespace det::auth
