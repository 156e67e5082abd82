#include "trial_api/cpp/torch/sampler.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/rng.h"
#include "trial_api/cpp/core/error.h"
#include <gtest/gtest.h>

namespace det::trial {
namespace {

std::vector<int64_t> GlobalBatch(Sampler::Options options, int size, int64_t epoch, int64_t batch) {
  std::vector<int64_t> records;
  options.size = size;
  for (options.rank = 0; options.rank < size; ++options.rank) {
    Sampler sampler(options);
    const auto part = sampler.Slice(epoch, batch);
    records.insert(records.end(), part.begin(), part.end());
  }
  return records;
}

TEST(SamplerTest, ReadsSameBatchesAndEachRecordOnce_ForAnyNumberOfRanks) {
  const uint64_t seed = 20240607;
  SCOPED_TRACE("seed " + std::to_string(seed));
  base::Rng rng(seed);
  for (int round = 0; round < 200; ++round) {
    Sampler::Options options{.records = rng.UniformInt(1, 60),
                             .global_batch_size = rng.UniformInt(1, 20),
                             .shuffle = rng.UniformInt(0, 1) == 1,
                             .seed = rng.Next()};
    SCOPED_TRACE("records " + std::to_string(options.records) + " batch " +
                 std::to_string(options.global_batch_size));
    const int64_t epoch = rng.UniformInt(0, 3);
    const int size = static_cast<int>(rng.UniformInt(2, 5));
    std::vector<int64_t> seen;
    for (int64_t batch = 0; batch < Sampler(options).batches_per_epoch(); ++batch) {
      const std::vector<int64_t> whole = GlobalBatch(options, 1, epoch, batch);
      EXPECT_EQ(whole, GlobalBatch(options, size, epoch, batch));
      seen.insert(seen.end(), whole.begin(), whole.end());
    }
    std::sort(seen.begin(), seen.end());
    std::vector<int64_t> all(static_cast<size_t>(options.records));
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(seen, all);
  }
}

TEST(SamplerTest, DropLastKeepsOnlyCompleteBatches) {
  Sampler sampler({.records = 10, .global_batch_size = 4, .drop_last = true});
  EXPECT_EQ(sampler.batches_per_epoch(), 2);
  EXPECT_EQ(sampler.Slice(0, 1).size(), 4u);
}

TEST(SamplerTest, EpochsDifferAndAreReproducible) {
  const Sampler::Options options{
      .records = 100, .global_batch_size = 100, .shuffle = true, .seed = 5};
  Sampler first(options);
  Sampler second(options);
  const auto epoch0 = first.Slice(0, 0);
  const std::vector<int64_t> order0(epoch0.begin(), epoch0.end());
  const auto epoch1 = first.Slice(1, 0);
  const std::vector<int64_t> order1(epoch1.begin(), epoch1.end());
  EXPECT_NE(order0, order1);
  // Starts in the second epoch, like a resumed run.
  EXPECT_TRUE(std::ranges::equal(second.Slice(1, 0), order1));
  EXPECT_TRUE(std::ranges::equal(second.Slice(0, 0), order0));
}

TEST(SamplerTest, RejectsTooFewRecords) {
  EXPECT_THROW(Sampler({.records = 0, .global_batch_size = 4}), Error);
  EXPECT_THROW(Sampler({.records = 4, .global_batch_size = 0}), Error);
  EXPECT_THROW(Sampler({.records = 3, .global_batch_size = 4, .drop_last = true}), Error);
}

}  // namespace
}  // namespace det::trial
