// Determines which records a rank reads in each batch. A pure function of (seed, epoch, batch), so
// training can resume anywhere without reading skipped records, and a global batch contains the
// same records for every number of ranks: rank r takes the r-th part of it.
//
// Called by the controller, on its thread. Depends neither on torch nor on the records.
#ifndef TRIAL_API_CPP_TORCH_SAMPLER_H_
#define TRIAL_API_CPP_TORCH_SAMPLER_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace det::trial {

class Sampler {
 public:
  struct Options {
    int64_t records = 0;
    int64_t global_batch_size = 0;
    bool shuffle = false;
    // Skips the last, smaller batch of an epoch. Otherwise that batch is divided as evenly as
    // possible, and the part of a rank may be empty.
    bool drop_last = false;
    uint64_t seed = 0;
    int rank = 0;
    int size = 1;
  };

  // Throws Error if there is no complete batch.
  explicit Sampler(const Options& options);

  int64_t batches_per_epoch() const { return batches_per_epoch_; }

  // Returns the number of records of a batch on all ranks.
  int64_t GetBatchSize(int64_t batch) const {
    return std::min(options_.global_batch_size,
                    options_.records - batch * options_.global_batch_size);
  }

  // Returns the indices of this rank's records, valid until the next call. REQUIRES 0 <= batch <
  // batches_per_epoch().
  std::span<const int64_t> Slice(int64_t epoch, int64_t batch);

 private:
  void OrderEpoch(int64_t epoch);

  const Options options_;
  int64_t batches_per_epoch_ = 0;
  int64_t ordered_epoch_ = -1;
  std::vector<int64_t> order_;
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_SAMPLER_H_
