#include "master/api/runtime/all_gather.h"

#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace det::api {
namespace {

using Result = std::optional<absl::StatusOr<std::vector<std::string>>>;
using Strings = std::vector<std::string>;

class AllGatherTest : public testing::Test {
 protected:
  int64_t Join(int rank, int peers, const std::string& data, Result* result,
               const std::string& key = "k", const std::string& allocation = "1.1.0") {
    return gather_.Join(model::AllocationId(allocation), key, rank, peers, data,
                        [result](auto gathered) { *result = std::move(gathered); });
  }
  const model::AllocationId id_{"1.1.0"};
  AllGather gather_;
};

TEST_F(AllGatherTest, SendsDataInRankOrderAfterLastRankJoined) {
  Result a, b, c;
  Join(2, 3, "two", &c);
  Join(0, 3, "zero", &a);
  EXPECT_FALSE(a || c);
  Join(1, 3, "one", &b);
  for (const Result* result : {&a, &b, &c}) {
    ASSERT_TRUE(*result && (*result)->ok());
    EXPECT_EQ(***result, (Strings{"zero", "one", "two"}));
  }
}

TEST_F(AllGatherTest, SeparatesKeysAndAllocations) {
  Result a, b, c;
  Join(0, 2, "a", &a, "k");
  Join(1, 2, "b", &b, "other");
  Join(1, 2, "c", &c, "k", "1.2.0");
  EXPECT_FALSE(a || b || c);
}

TEST_F(AllGatherTest, ReplacesEarlierCallOfSameRank) {
  Result first, again, peer;
  Join(0, 2, "old", &first);
  Join(0, 2, "new", &again);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->status().code(), absl::StatusCode::kAborted);
  Join(1, 2, "peer", &peer);
  EXPECT_EQ(**again, (Strings{"new", "peer"}));
}

TEST_F(AllGatherTest, RepeatsReplyForCompletedGroup) {
  Result a, b, again;
  Join(0, 2, "a", &a);
  Join(1, 2, "b", &b);
  Join(0, 2, "a", &again);
  ASSERT_TRUE(again && again->ok());
  EXPECT_EQ(**again, (Strings{"a", "b"}));
}

TEST_F(AllGatherTest, GathersFromNamedProcesses) {
  Result a, b, again, next, other;
  const auto join = [&](const std::string& name, const std::string& data, Result* result) {
    gather_.JoinByName(id_, name, 2, data, [result](auto gathered) { *result = gathered; });
  };
  join("p", "first", &a);
  EXPECT_FALSE(a);
  join("q", "second", &b);
  EXPECT_EQ(**a, (Strings{"first", "second"}));
  EXPECT_EQ(**b, (Strings{"first", "second"}));
  join("q", "second", &again);
  EXPECT_EQ(**again, (Strings{"first", "second"})) << "the reply was lost";
  join("r", "third", &next);
  EXPECT_FALSE(next) << "a new group begins";
  join("s", "fourth", &other);
  EXPECT_EQ(**next, (Strings{"third", "fourth"}));
}

TEST_F(AllGatherTest, DoesNotCountInvalidCallOfNamedProcess) {
  Result bad, a, b;
  gather_.JoinByName(id_, "x", 0, "", [&](auto gathered) { bad = gathered; });
  EXPECT_EQ(bad->status().code(), absl::StatusCode::kInvalidArgument);
  gather_.JoinByName(id_, "p", 2, "a", [&](auto gathered) { a = gathered; });
  gather_.JoinByName(id_, "q", 2, "b", [&](auto gathered) { b = gathered; });
  ASSERT_TRUE(a && b);
  EXPECT_EQ(**a, (Strings{"a", "b"}));
}

TEST_F(AllGatherTest, DoesNotCountDisconnectedRank) {
  Result disconnected, a, b;
  const int64_t ticket = Join(0, 2, "disconnected", &disconnected);
  gather_.Abandon(id_, ticket);
  EXPECT_EQ(disconnected->status().code(), absl::StatusCode::kCancelled);
  Join(1, 2, "b", &b);
  EXPECT_FALSE(b);
  Join(0, 2, "a", &a);
  EXPECT_EQ(**b, (Strings{"a", "b"}));
  gather_.Abandon(id_, ticket);
  gather_.Abandon(id_, 999);
}

TEST_F(AllGatherTest, RejectsInvalidRanksAndPeerCounts) {
  Result bad, a, b;
  for (const auto& [rank, peers] : {std::pair(2, 2), {-1, 2}, {0, 0}}) {
    Join(rank, peers, "", &bad);
    EXPECT_EQ(bad->status().code(), absl::StatusCode::kInvalidArgument);
  }
  Join(0, 2, "a", &a);
  Join(1, 3, "b", &b);
  EXPECT_EQ(b->status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(a);
}

TEST_F(AllGatherTest, EndsWaitingCallsWhenAllocationEnds) {
  Result a;
  Join(0, 2, "a", &a);
  gather_.Close(id_);
  ASSERT_TRUE(a);
  EXPECT_EQ(a->status().code(), absl::StatusCode::kAborted);
  gather_.Close(id_);
}

}  // namespace
}  // namespace det::api
