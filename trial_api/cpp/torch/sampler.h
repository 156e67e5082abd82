// Which records a rank reads in which batch. A pure function of (seed, epoch, batch), so training
// can resume anywhere without reading what was skipped, and a global batch holds the same records
// for every number of ranks: rank r takes the r-th part of it.
//
// Called by the controller, on its thread; knows neither torch nor the records themselves.
#ifndef TRIAL_API_CPP_TORCH_SAMPLER_H_
#define TRIAL_API_CPP_TORCH_SAMPLER_H_

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
    // Leaves out the last, smaller batch of an epoch. Without it, that batch is divided as evenly
    // as it goes, and a rank's part may be empty.
    bool drop_last = false;
    uint64_t seed = 0;
    int rank = 0;
    int size = 1;
  };

  // Throws Error when no batch can be made.
  explicit Sampler(const Options& options);

  int64_t batches_per_epoch() const { return batches_per_epoch_; }

  // The records of this rank, valid until the next call. REQUIRES 0 <= batch < batches_per_epoch().
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
