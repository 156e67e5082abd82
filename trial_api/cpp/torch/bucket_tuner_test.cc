#include "trial_api/cpp/torch/bucket_tuner.h"

#include <string>
#include <vector>

#include "trial_api/cpp/torch/testing/forked_ranks.h"
#include <gtest/gtest.h>

namespace det::trial {
namespace {

using testing::RunRanks;
using Bytes = std::vector<int64_t>;

constexpr int64_t kMegabyte = int64_t{1} << 20;

TEST(BucketTunerTest, TriesOnlyDifferentSizes) {
  EXPECT_EQ(BucketTuner::Candidates(100), Bytes({kMegabyte}));
  EXPECT_EQ(BucketTuner::Candidates(kMegabyte), Bytes({kMegabyte}));
  EXPECT_EQ(BucketTuner::Candidates(5 * kMegabyte),
            Bytes({kMegabyte, 4 * kMegabyte, 10 * kMegabyte}));
  EXPECT_EQ(BucketTuner::Candidates(int64_t{1} << 40).back(), 64 * kMegabyte);
}

// Passes take the time that `seconds` returns for their size; the first pass of each size takes
// long.
std::string Tune(Communicator& communicator, const std::function<double(int64_t)>& seconds) {
  double now = 0;
  BucketTuner tuner({10, 20, 30}, [&] { return now; });
  std::string tried;
  for (bool fresh = true; !tuner.done();) {
    if (fresh) tried += std::to_string(tuner.bytes()) + " ";
    tuner.Begin();
    now += seconds(tuner.bytes()) + (fresh ? 100 : 0);
    fresh = tuner.End(communicator);
  }
  return tried + "-> " + std::to_string(tuner.bytes());
}

TEST(BucketTunerTest, UsesFastestSizeOfChief) {
  for (const int64_t best : {10, 20, 30}) {
    const auto results = RunRanks(3, [&](Communicator& communicator) {
      return Tune(communicator, [&](int64_t bytes) {
        const bool fast = communicator.ranks().is_chief() ? bytes == best : bytes != best;
        return fast ? 1.0 : 2.0;
      });
    });
    EXPECT_EQ(results, std::vector<std::string>(3, "10 20 30 -> " + std::to_string(best)));
  }
}

TEST(BucketTunerTest, IgnoresSingleSlowPass) {
  const auto results = RunRanks(1, [&](Communicator& communicator) {
    int passes = 0;
    return Tune(communicator,
                [&](int64_t bytes) { return bytes == 20 ? (++passes == 3 ? 50.0 : 1.0) : 2.0; });
  });
  EXPECT_EQ(results[0], "10 20 30 -> 20");
}

}  // namespace
}  // namespace det::trial
