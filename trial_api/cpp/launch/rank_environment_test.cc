#include "trial_api/cpp/launch/rank_environment.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "trial_api/cpp/core/error.h"

namespace det::launch {
namespace {

bool Has(const std::vector<std::string>& environment, const std::string& entry) {
  return std::ranges::count(environment, entry) == 1;
}

TEST(GetRanksOfNodeTest, AssignsOneRankPerSlotInNodeOrder) {
  const std::vector<core::Node> nodes = {{"a", "", 2}, {"b", "", 3}, {"c", "", 1}};
  const std::vector<Ranks> ranks = GetRanksOfNode(nodes, "b");
  ASSERT_EQ(ranks.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ranks[i].rank, 2 + i);
    EXPECT_EQ(ranks[i].size, 6);
    EXPECT_EQ(ranks[i].local_rank, i);
    EXPECT_EQ(ranks[i].local_size, 3);
    EXPECT_EQ(ranks[i].cross_rank, 1);
    EXPECT_EQ(ranks[i].cross_size, 3);
  }
  EXPECT_TRUE(GetRanksOfNode(nodes, "a")[0].is_chief());
}

TEST(GetRanksOfNodeTest, AssignsOneRank_WhenNodeHasNoSlots) {
  EXPECT_EQ(GetRanksOfNode({{"a", "", 0}}, "a").size(), 1u);
}

TEST(GetRanksOfNodeTest, NamesUnknownAgent) {
  EXPECT_THROW(GetRanksOfNode({{"a", "", 1}}, "b"), Error);
}

TEST(RankEnvironmentTest, ReplacesAndAddsVariables) {
  ::setenv("DET_RANK", "77", 1);
  ::unsetenv("OMP_NUM_THREADS");
  RankExtras extras;
  extras.single_thread = true;
  const auto environment = RankEnvironment({1, 4, 1, 2, 0, 2}, extras);
  EXPECT_TRUE(Has(environment, "DET_RANK=1"));
  EXPECT_FALSE(Has(environment, "DET_RANK=77"));
  EXPECT_TRUE(Has(environment, "DET_SIZE=4"));
  EXPECT_TRUE(Has(environment, "DET_LOCAL_SIZE=2"));
  EXPECT_TRUE(Has(environment, "DET_CROSS_SIZE=2"));
  EXPECT_TRUE(Has(environment, "OMP_NUM_THREADS=1"));
}

TEST(RankEnvironmentTest, KeepsNumberOfThreadsOfUser) {
  ::setenv("OMP_NUM_THREADS", "3", 1);
  RankExtras extras;
  extras.single_thread = true;
  const auto environment = RankEnvironment({}, extras);
  EXPECT_TRUE(Has(environment, "OMP_NUM_THREADS=3"));
  EXPECT_FALSE(Has(environment, "OMP_NUM_THREADS=1"));
}

}  // namespace
}  // namespace det::launch
