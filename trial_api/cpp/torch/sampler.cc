#include "trial_api/cpp/torch/sampler.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/check.h"
#include "base/rng.h"
#include "trial_api/cpp/core/error.h"

namespace det::trial {

Sampler::Sampler(const Options& options) : options_(options) {
  const int64_t records = options.records;
  const int64_t batch = options.global_batch_size;
  if (batch < 1) {
    throw Error("batch size " + std::to_string(batch) + ": must be at least 1");
  }
  if (records < 1) throw Error("the data set is empty: a data loader needs at least one record");
  if (options.drop_last && records < batch) {
    throw Error("the data set has " + std::to_string(records) +
                " records, fewer than one global batch of " + std::to_string(batch) +
                "; use a smaller global_batch_size");
  }
  batches_per_epoch_ = options.drop_last ? records / batch : (records + batch - 1) / batch;
  order_.resize(static_cast<size_t>(records));
}

void Sampler::OrderEpoch(int64_t epoch) {
  if (epoch == ordered_epoch_) return;
  if (options_.shuffle || ordered_epoch_ < 0) {
    std::iota(order_.begin(), order_.end(), int64_t{0});
    if (options_.shuffle) {
      base::Rng rng = base::Rng(options_.seed).Split(static_cast<uint64_t>(epoch));
      rng.Shuffle(order_);
    }
  }
  ordered_epoch_ = epoch;
}

std::span<const int64_t> Sampler::Slice(int64_t epoch, int64_t batch) {
  DET_CHECK(batch >= 0 && batch < batches_per_epoch_) << "batch " << batch;
  OrderEpoch(epoch);
  const int64_t begin = batch * options_.global_batch_size;
  const int64_t count = std::min(options_.global_batch_size, options_.records - begin);
  const int64_t first = begin + count * options_.rank / options_.size;
  const int64_t last = begin + count * (options_.rank + 1) / options_.size;
  return std::span(order_).subspan(static_cast<size_t>(first), static_cast<size_t>(last - first));
}

}  // namespace det::trial
