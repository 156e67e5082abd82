#include "master/core/searcher/pareto.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/rng.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::searcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

TEST(ParetoTest, RequiresOneBetterLossAndNoneWorse) {
  EXPECT_TRUE(Dominates({1, 2}, {1, 3}));
  EXPECT_TRUE(Dominates({0, 2}, {1, 3}));
  EXPECT_FALSE(Dominates({1, 2}, {1, 2}));
  EXPECT_FALSE(Dominates({0, 4}, {1, 3}));
  EXPECT_TRUE(Dominates({1}, {kNan}));
  EXPECT_FALSE(Dominates({kNan}, {kInf})) << "NaN is as bad as infinity, no worse";
  EXPECT_FALSE(Dominates({kInf}, {kNan}));
}

TEST(ParetoTest, ComputesFrontAndRanks) {
  //                                       0       1       2       3       4       5
  const std::vector<Losses> points = {{1, 5}, {2, 2}, {5, 1}, {3, 3}, {6, 6}, {2, 2}};
  EXPECT_THAT(Front(points), ElementsAre(0, 1, 2, 5)) << "both equal points are included";
  EXPECT_THAT(Ranks(points), ElementsAre(0, 0, 0, 1, 2, 0));
  EXPECT_THAT(Front({}), IsEmpty());
  EXPECT_THAT(Ranks({}), IsEmpty());
}

TEST(ParetoTest, TreatsNanAsWorst) {
  EXPECT_THAT(Front({{kNan, 1}, {2, 2}, {kNan, 3}, {kNan, kNan}}), ElementsAre(0, 1));
  EXPECT_THAT(Front({{kNan, kNan}, {kInf, kInf}}), ElementsAre(0, 1));
}

TEST(ParetoTest, ReturnsBestPoints_WithOneLoss) {
  EXPECT_THAT(Front({{3}, {1}, {2}, {1}}), ElementsAre(1, 3));
  EXPECT_THAT(Ranks({{3}, {1}, {2}, {1}}), ElementsAre(2, 0, 1, 0));
}

TEST(ParetoTest, ComputesHypervolume) {
  EXPECT_DOUBLE_EQ(Hypervolume({{1, 3}, {2, 1}}, {4, 4}), 3 * 1 + 2 * 2);
  EXPECT_DOUBLE_EQ(Hypervolume({{1, 3}, {2, 1}, {2, 3}, {1, 3}}, {4, 4}), 7);
  EXPECT_DOUBLE_EQ(Hypervolume({{4, 0}, {0, 4}, {kNan, 0}}, {4, 4}), 0) << "on the reference";
  EXPECT_DOUBLE_EQ(Hypervolume({}, {4, 4}), 0);
  EXPECT_EQ(Hypervolume({{-kInf, 1}}, {4, 4}), kInf);
}

// Coarse values, so that ties, equal points and NaN are frequent.
std::vector<Losses> RandomPoints(base::Rng& rng) {
  const int64_t dimensions = rng.UniformInt(1, 4), count = rng.UniformInt(0, 60);
  std::vector<Losses> points;
  for (int64_t i = 0; i < count; ++i) {
    Losses& point = points.emplace_back();
    for (int64_t d = 0; d < dimensions; ++d) {
      const int64_t dice = rng.UniformInt(0, 11);
      point.push_back(dice == 0   ? kNan
                      : dice == 1 ? kInf
                      : dice == 2 ? -kInf
                                  : static_cast<double>(dice));
    }
  }
  return points;
}

TEST(ParetoPropertyTest, MatchesDefinition) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    base::Rng rng(seed);
    const std::vector<Losses> points = RandomPoints(rng);
    const std::vector<int64_t> ranks = Ranks(points);
    std::vector<size_t> front;
    for (size_t i = 0; i < points.size(); ++i) {
      int64_t behind = 0;
      for (size_t j = 0; j < points.size(); ++j) {
        if (Dominates(points[j], points[i])) behind = std::max(behind, ranks[j] + 1);
      }
      ASSERT_EQ(ranks[i], behind) << "point " << i;
      if (behind == 0) front.push_back(i);
    }
    ASSERT_EQ(Front(points), front);
    EXPECT_EQ(front.empty(), points.empty());
  }
}

TEST(ParetoPropertyTest, DoesNotDependOnOrder) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    base::Rng rng(seed);
    const std::vector<Losses> points = RandomPoints(rng);
    std::vector<size_t> order(points.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    rng.Shuffle(order);
    std::vector<Losses> shuffled;
    for (const size_t i : order) shuffled.push_back(points[i]);
    const std::vector<int64_t> ranks = Ranks(points), others = Ranks(shuffled);
    for (size_t i = 0; i < order.size(); ++i) ASSERT_EQ(others[i], ranks[order[i]]);
  }
}

TEST(ParetoPropertyTest, HypervolumeGrowsWithPoints) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    base::Rng rng(seed);
    // Whole numbers on a 10 x 10 board, so its dominated cells can be counted.
    std::vector<Losses> points;
    double before = 0;
    for (int64_t i = rng.UniformInt(0, 30); i > 0; --i) {
      points.push_back(
          {static_cast<double>(rng.UniformInt(0, 12)), static_cast<double>(rng.UniformInt(0, 12))});
      const double now = Hypervolume(points, {10, 10});
      ASSERT_GE(now, before);
      before = now;
    }
    int cells = 0;
    for (int x = 0; x < 10; ++x) {
      for (int y = 0; y < 10; ++y) {
        cells += std::any_of(points.begin(), points.end(),
                             [x, y](const Losses& p) { return p[0] <= x && p[1] <= y; });
      }
    }
    EXPECT_DOUBLE_EQ(Hypervolume(points, {10, 10}), cells);
    std::vector<Losses> front;
    for (const size_t i : Front(points)) front.push_back(points[i]);
    EXPECT_DOUBLE_EQ(Hypervolume(front, {10, 10}), cells);
  }
}

}  // namespace
}  // namespace det::searcher
