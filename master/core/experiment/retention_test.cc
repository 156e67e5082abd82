#include "master/core/experiment/retention.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include <gmock/gmock.h>

namespace det::experiment {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Names = std::set<std::string>;

RetentionCandidate Make(const std::string& id, int trial, int64_t steps,
                        std::optional<double> metric) {
  return {.id = model::CheckpointId(id),
          .trial = model::TrialId(trial),
          .steps = steps,
          .time = absl::UnixEpoch() + absl::Seconds(steps),
          .metric = metric};
}

Names Kept(const RetentionPolicy& policy, const std::vector<RetentionCandidate>& all,
           bool smaller_is_better = true) {
  Names kept;
  for (const RetentionCandidate& each : all) kept.insert(each.id.value());
  for (const auto& id : SelectForRemoval(policy, smaller_is_better, all)) {
    EXPECT_EQ(kept.erase(id.value()), 1u) << id.value();
  }
  return kept;
}

// The example in Determined's documentation of experiment configurations.
std::vector<RetentionCandidate> Example() {
  return {Make("1", 1, 10, {}),  Make("2", 1, 20, {}), Make("3", 1, 30, 0.6), Make("4", 1, 40, 0.5),
          Make("5", 1, 50, 0.4), Make("6", 2, 10, {}), Make("7", 2, 20, 0.2), Make("8", 2, 30, 0.3),
          Make("9", 2, 40, {}),  Make("10", 2, 50, {})};
}

TEST(RetentionTest, MatchesDocumentedExample) {
  const std::vector<RetentionCandidate> all = Example();
  EXPECT_EQ(Kept({0, 0, 1}, all), (Names{"10", "5"}));
  EXPECT_EQ(Kept({0, 0, 3}, all), (Names{"10", "9", "8", "5", "4", "3"}));
  EXPECT_EQ(Kept({0, 1, 0}, all), (Names{"7", "5"}));
  EXPECT_EQ(Kept({0, 3, 0}, all), (Names{"8", "7", "5", "4", "3"}));
  EXPECT_EQ(Kept({0, 9, 0}, all), (Names{"8", "7", "5", "4", "3"}));
  EXPECT_EQ(Kept({2, 0, 0}, all), (Names{"8", "7"}));
  EXPECT_EQ(Kept({5, 0, 0}, all), (Names{"8", "7", "5", "4", "3"}));
  EXPECT_EQ(Kept({2, 1, 0}, all), (Names{"8", "7", "5"}));
  EXPECT_EQ(Kept({2, 0, 1}, all), (Names{"10", "8", "7", "5"}));
  EXPECT_EQ(Kept({0, 1, 1}, all), (Names{"10", "7", "5"}));
  EXPECT_EQ(Kept({2, 1, 1}, all), (Names{"10", "8", "7", "5"}));
  EXPECT_THAT(Kept({0, 0, 0}, all), IsEmpty());
}

TEST(RetentionTest, RespectsMetricDirection) {
  EXPECT_EQ(Kept({1, 0, 0}, Example(), /*smaller_is_better=*/false), (Names{"3"}));
}

TEST(RetentionTest, IgnoresMetricsThatAreNotFiniteAndPrefersNewerOfEquals) {
  const std::vector<RetentionCandidate> all = {
      Make("nan", 1, 10, std::numeric_limits<double>::quiet_NaN()),
      Make("infinite", 1, 11, -std::numeric_limits<double>::infinity()), Make("old", 1, 20, 0.5),
      Make("new", 1, 30, 0.5), Make("bad", 1, 40, std::numeric_limits<double>::infinity())};
  EXPECT_EQ(Kept({0, 1, 0}, all), (Names{"new"}));
  EXPECT_EQ(Kept({0, 9, 0}, all), (Names{"old", "new"}));
}

TEST(RetentionTest, DoesNotCountPartialCheckpoints) {
  std::vector<RetentionCandidate> all = Example();
  all[4].whole = false;  // 5: trial 1's newest and best
  EXPECT_EQ(Kept({0, 1, 0}, all), (Names{"7", "5", "4"}));
  EXPECT_EQ(Kept({0, 0, 1}, all), (Names{"10", "5", "4"}));
  EXPECT_EQ(Kept({1, 0, 0}, all), (Names{"7"})) << "it would be removed if it were whole, too";
  EXPECT_THAT(Kept({0, 0, 0}, all), IsEmpty());
}

TEST(RetentionTest, KeepsHeldCheckpointsWithoutCountingThem) {
  std::vector<RetentionCandidate> all = Example();
  all[1].held = true;
  EXPECT_EQ(Kept({0, 1, 0}, all), (Names{"7", "5", "2"}));
  all[6].held = true;
  EXPECT_EQ(Kept({0, 1, 0}, all), (Names{"7", "5", "2"}));
}

std::vector<RetentionCandidate> Random(base::Rng& rng) {
  std::vector<RetentionCandidate> all;
  const int count = static_cast<int>(rng.UniformInt(0, 25));
  for (int i = 0; i < count; ++i) {
    std::optional<double> metric;
    if (rng.UniformInt(0, 3) > 0) metric = static_cast<double>(rng.UniformInt(0, 5));
    if (rng.UniformInt(0, 20) == 0) metric = std::numeric_limits<double>::quiet_NaN();
    all.push_back(Make(absl::StrCat(i), static_cast<int>(rng.UniformInt(1, 4)),
                       rng.UniformInt(0, 10), metric));
    all.back().held = rng.UniformInt(0, 5) == 0;
  }
  return all;
}

TEST(RetentionTest, SatisfiesProperties) {
  constexpr uint64_t kSeed = 20261122;
  for (uint64_t round = 0; round < 2000; ++round) {
    SCOPED_TRACE(absl::StrCat("seed ", kSeed + round));
    base::Rng rng(kSeed + round);
    std::vector<RetentionCandidate> all = Random(rng);
    const auto number = [&] { return static_cast<int>(rng.UniformInt(0, 4)); };
    const RetentionPolicy policy{number(), number(), number()};
    const bool smaller = rng.UniformInt(0, 1) == 0;
    const Names kept = Kept(policy, all, smaller);
    for (const RetentionCandidate& each : all) {
      EXPECT_TRUE(!each.held || kept.contains(each.id.value())) << "a held checkpoint was removed";
    }
    // A policy that keeps more of each kind never keeps fewer checkpoints.
    const RetentionPolicy more{policy.experiment_best + number(), policy.trial_best + number(),
                               policy.trial_latest + number()};
    const Names with_more = Kept(more, all, smaller);
    EXPECT_TRUE(std::includes(with_more.begin(), with_more.end(), kept.begin(), kept.end()));
    // The result does not depend on the order of the checkpoints, and a second application removes
    // nothing.
    std::vector<RetentionCandidate> left;
    for (auto each = all.rbegin(); each != all.rend(); ++each) {
      if (kept.contains(each->id.value())) left.push_back(*each);
    }
    EXPECT_EQ(Kept(policy, {all.rbegin(), all.rend()}, smaller), kept);
    EXPECT_THAT(SelectForRemoval(policy, smaller, left), IsEmpty());
  }
}

}  // namespace
}  // namespace det::experiment
