#include "master/core/cluster/queue_order.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cluster {
namespace {

using experiment::QueuePlace;
using model::JobId;

QueuePlace At(double position, int priority = 42, const std::string& pool = "default") {
  QueuePlace place;
  place.resource_pool = pool;
  place.priority = priority;
  place.position = position;
  return place;
}

TEST(QueueOrderTest, ReturnsPositionBetweenNeighbors) {
  QueueOrder order;
  order.Put(JobId("1"), At(1));
  order.Put(JobId("2"), At(2));
  order.Put(JobId("3"), At(1.5, 7));
  order.Put(JobId("4"), At(1.5, 42, "other"));
  EXPECT_EQ(order.Beside(JobId("1"), true), 0);
  EXPECT_EQ(order.Beside(JobId("1"), false), 1.5);
  EXPECT_EQ(order.Beside(JobId("2"), true), 1.5);
  EXPECT_EQ(order.Beside(JobId("2"), false), 2.5);
  order.Put(JobId("5"), At(2));
  EXPECT_EQ(order.Beside(JobId("2"), false), std::nullopt) << "both are at 2";
  order.Remove(JobId("2"));
  EXPECT_EQ(order.Beside(JobId("1"), false), 1.5);
}

// After random insertions and removals the order equals a sorted list.
TEST(QueueOrderTest, OrdersByPosition) {
  const uint64_t seed = 20261122;
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  base::Rng rng(seed);
  QueueOrder order;
  std::map<JobId, QueuePlace> places;
  for (int step = 0; step < 2000; ++step) {
    const JobId id(absl::StrCat(rng.UniformInt(1, 40)));
    if (rng.UniformInt(0, 3) == 0) {
      order.Remove(id);
      places.erase(id);
    } else {
      places[id] = At(static_cast<double>(rng.UniformInt(0, 20)) / 2,
                      static_cast<int>(rng.UniformInt(1, 3)), rng.UniformInt(0, 1) ? "a" : "b");
      order.Put(id, places[id]);
    }
    for (const auto& [unused, mine] : places) {
      std::vector<std::pair<double, JobId>> expected;
      for (const auto& [other, place] : places) {
        if (place.resource_pool != mine.resource_pool || place.priority != mine.priority) continue;
        expected.emplace_back(place.position, other);
      }
      std::sort(expected.begin(), expected.end());
      ASSERT_THAT(order.GetPeers(mine), ::testing::ElementsAreArray(expected)) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace det::cluster
