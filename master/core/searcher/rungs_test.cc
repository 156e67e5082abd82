#include "master/core/searcher/rungs.h"

#include <limits>
#include <optional>

#include <gtest/gtest.h>

namespace det::searcher {
namespace {

using Lengths = std::vector<int64_t>;

TEST(RungsTest, MatchesLengthsOfDetermined) {
  EXPECT_EQ(RungLengths(3, 9, 3), (Lengths{1, 3, 9}));
  EXPECT_EQ(RungLengths(4, 10, 2), (Lengths{1, 2, 5, 10}));
  EXPECT_EQ(RungLengths(1, 9, 3), (Lengths{9}));
  EXPECT_EQ(RungLengths(3, 900, 3), (Lengths{100, 300, 900}));
  EXPECT_EQ(RungLengths(5, 937, 4), (Lengths{3, 14, 58, 234, 937}));
}

TEST(RungsTest, ComputesExactLengths) {
  EXPECT_EQ(RungLengths(4, 2, 4), (Lengths{1, 1, 1, 2}));
  EXPECT_EQ(RungLengths(2, 10, 2.5), (Lengths{4, 10}));
  const int64_t large = int64_t{1} << 62;
  EXPECT_EQ(RungLengths(3, large - 1, 2), (Lengths{large / 4 - 1, large / 2 - 1, large - 1}));
  EXPECT_EQ(RungLengths(kMaxRungs, 100, 1e300).front(), 1);
}

// Determined divides logarithms and has one rung less for these.
TEST(RungsTest, KeepsAllRungs_ForExactPowers) {
  EXPECT_EQ(RungsWithin(3, 243, 64), 6);
  EXPECT_EQ(RungsWithin(3, 59049, 64), 11);
  EXPECT_EQ(RungsWithin(9, 59049, 64), 6);
  EXPECT_EQ(RungsWithin(10, 1000, 64), 4);
  EXPECT_EQ(RungsWithin(10, 1'000'000, 64), 7);
}

TEST(RungsTest, DistinguishesNeighborsOfPowers) {
  EXPECT_EQ(RungsWithin(3, 242, 64), 5);
  EXPECT_EQ(RungsWithin(3, 244, 64), 6);
  EXPECT_EQ(RungsWithin(4, 1, 64), 1);
  EXPECT_EQ(RungsWithin(4, 3, 64), 1);
  EXPECT_EQ(RungsWithin(2.5, 6, 64), 2);
  EXPECT_EQ(RungsWithin(2.5, 7, 64), 3);
  EXPECT_EQ(RungsWithin(1.0000001, 1'000'000, 5), 5) << "bounded";
}

TEST(RungsTest, ReturnsNumberOfBetterEntries) {
  Rungs rungs({1, 3});
  EXPECT_EQ(rungs.Add(0, {1.2, 1}), 0);
  rungs = Rungs({1, 3});
  for (const double loss : {0.0, 1.5, 2.1}) rungs.Add(0, {loss, 1});
  EXPECT_EQ(rungs.Add(0, {1.2, 2}), 1);
  EXPECT_EQ(rungs.Add(0, {3.0, 3}), 4);
  EXPECT_EQ(rungs.Add(0, {-3.4, 4}), 0);
  EXPECT_EQ(rungs.Add(0, {1.5, 5}), 3) << "an equal entry is not better";
  EXPECT_EQ(rungs.Rank(0, {1.5, 5}), 4) << "but the older one comes first";
  EXPECT_EQ(rungs.reported(0), 7);
  EXPECT_EQ(rungs.equal(0, 1.5), 2);
  EXPECT_EQ(rungs.equal(0, 1.6), 0);
}

TEST(RungsTest, ForgetsTrialInAllRungs) {
  Rungs rungs({1, 3, 9});
  rungs.Add(0, {0.5, 1});
  rungs.RecordPromoted(0, 1);
  rungs.Add(1, {0.4, 1});
  rungs.Add(0, {0.7, 2});
  rungs.Forget(1, 1);
  const Bracket bracket = rungs.Describe();
  EXPECT_EQ(bracket[0].reported, 1);
  EXPECT_EQ(bracket[0].continued, 0);
  EXPECT_EQ(bracket[0].best_loss, 0.7);
  EXPECT_EQ(bracket[1].reported, 0);
  EXPECT_EQ(bracket[1].best_loss, std::nullopt);
}

TEST(RungsTest, RestoresFromJson) {
  Rungs rungs({1, 3});
  rungs.Add(0, {std::numeric_limits<double>::infinity(), 3});
  rungs.Add(0, {0.1, 1});
  rungs.RecordPromoted(0, 1);
  rungs.Add(1, {1, 1});
  const auto text = model::Value::FromJson(rungs.Snapshot().ToJson());
  ASSERT_TRUE(text.ok());
  Rungs restored({1, 3});
  ASSERT_TRUE(restored.Restore(*text).ok());
  EXPECT_EQ(restored.Snapshot(), rungs.Snapshot());
}

TEST(RungsTest, InfersPromotions_FromOldSnapshot) {
  Rungs rungs({1, 3});
  const auto old = model::Value::FromJson(
      R"([{"continued":2,"entries":[0.1,2,0.5,1]},{"continued":0,"entries":[0.1,2]}])");
  ASSERT_TRUE(rungs.Restore(*old).ok());
  EXPECT_TRUE(rungs.WasPromoted(0, 2));
  EXPECT_FALSE(rungs.WasPromoted(0, 1));
  EXPECT_EQ(rungs.continued(0), 1);
}

TEST(RungsTest, RejectsForeignSnapshot) {
  for (const char* text :
       {"null", "[]", "[{}]", R"([{"let_on":[],"entries":[1]},{"let_on":[],"entries":[]}])",
        R"([{"let_on":[],"entries":[2,1,1,2]},{"let_on":[],"entries":[]}])",
        R"([{"let_on":["x"],"entries":[]},{"let_on":[],"entries":[]}])",
        R"([{"entries":[]},{"entries":[]}])",
        R"([{"continued":-1,"entries":[]},{"continued":0,"entries":[]}])"}) {
    Rungs rungs({1, 3});
    EXPECT_FALSE(rungs.Restore(*model::Value::FromJson(text)).ok()) << text;
  }
}

}  // namespace
}  // namespace det::searcher
