#include "base/rng.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

namespace det::base {
namespace {

// From the authors' C code, with the state {1, 2, 3, 4}.
TEST(RngTest, MatchesReferenceImplementation) {
  auto rng = Rng::FromString(
      "xoshiro256++:0000000000000001:0000000000000002:0000000000000003:0000000000000004");
  ASSERT_TRUE(rng.ok()) << rng.status();
  EXPECT_EQ(rng->Next(), 41943041u);
  EXPECT_EQ(rng->Next(), 58720359u);
  EXPECT_EQ(rng->Next(), 3588806011781223u);
  EXPECT_EQ(rng->Next(), 3591011842654386u);
}

TEST(RngTest, RestoresStateFromText) {
  Rng rng(42);
  rng.Next();
  auto copy = Rng::FromString(rng.ToString());
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(*copy, rng);
  EXPECT_EQ(copy->Normal(), rng.Normal());
  for (const char* bad : {"", "xoshiro256++", "x:1:2:3:4", "xoshiro256++:1:2:3:4",
                          "xoshiro256++:0000000000000000:0000000000000000:0000000000000000:"
                          "0000000000000000"}) {
    EXPECT_EQ(Rng::FromString(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(RngTest, SplitIsRepeatableAndDoesNotChangeParent) {
  const Rng parent(7);
  EXPECT_EQ(parent.Split(1), parent.Split(1));
  std::set<uint64_t> firsts;
  for (uint64_t stream = 0; stream < 1000; ++stream) firsts.insert(parent.Split(stream).Next());
  EXPECT_EQ(firsts.size(), 1000u);
  EXPECT_EQ(parent, Rng(7));
}

TEST(RngTest, UniformNumbersCoverRange) {
  Rng rng(1);
  double sum = 0;
  std::array<int, 6> counts{};
  for (int i = 0; i < 60000; ++i) {
    const double u = rng.Uniform01();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    const int64_t die = rng.UniformInt(-2, 3);
    ASSERT_GE(die, -2);
    ASSERT_LE(die, 3);
    ++counts[static_cast<size_t>(die + 2)];
  }
  EXPECT_NEAR(sum / 60000, 0.5, 0.01);
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
}

TEST(RngTest, UniformIntAcceptsEveryRange) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  Rng rng(1);
  EXPECT_EQ(rng.UniformInt(5, 5), 5);
  EXPECT_EQ(rng.UniformInt(kMax, kMax), kMax);
  EXPECT_NE(rng.UniformInt(kMin, kMax), rng.UniformInt(kMin, kMax));
}

TEST(RngTest, NormalHasMeanAndVariance) {
  Rng rng(3);
  double sum = 0;
  double squares = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double x = rng.Normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.02);
  EXPECT_NEAR(squares / kCount, 1, 0.02);
}

// If these values change, journals that were written before cannot be replayed.
TEST(RngTest, MatchesGoldenValues) {
  Rng rng(2024);
  EXPECT_EQ(rng.Next(), 9674054429496410833u);
  EXPECT_EQ(rng.UniformInt(1, 1000), 466);
  EXPECT_EQ(rng.Normal(), -0x1.8282e1f8e7c92p+0);
  EXPECT_EQ(rng.Split(3).Next(), 9147954859917127736u);
}

TEST(RngTest, ShuffleKeepsAllItems) {
  Rng rng(5);
  std::vector<int> items(100);
  for (int i = 0; i < 100; ++i) items[static_cast<size_t>(i)] = i;
  const std::vector<int> before = items;
  rng.Shuffle(items);
  EXPECT_NE(items, before);
  std::sort(items.begin(), items.end());
  EXPECT_EQ(items, before);
}

}  // namespace
}  // namespace det::base
