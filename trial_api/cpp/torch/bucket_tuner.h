// Finds the bucket size with the fastest backward pass: it tries each candidate in some of the
// first batches of a run. The chief's clock decides for all ranks.
//
// Owned by AllReduce, used on the training thread. All ranks must make the same calls.
#ifndef TRIAL_API_CPP_TORCH_BUCKET_TUNER_H_
#define TRIAL_API_CPP_TORCH_BUCKET_TUNER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "trial_api/cpp/core/communicator.h"

namespace det::trial {

class BucketTuner {
 public:
  using Clock = std::function<double()>;  // seconds since an arbitrary time

  // The number of passes with each candidate. The first one is not measured, because it creates the
  // buckets.
  static constexpr int kPasses = 6;

  // `candidates` are sizes of a bucket in bytes; at least one.
  BucketTuner(std::vector<int64_t> candidates, Clock clock);

  // Returns the sizes to try for `gradient_bytes` in total, in ascending order. Buckets larger than
  // all gradients make no difference.
  static std::vector<int64_t> Candidates(int64_t gradient_bytes);

  // The size for the next backward pass.
  int64_t bytes() const { return candidates_[candidate_]; }
  bool done() const { return candidates_.size() == 1; }

  // Called around a backward pass and its reductions, while not done(). End() is collective; it
  // returns whether bytes() has changed. Throws PeerGone.
  void Begin();
  bool End(Communicator& communicator);

 private:
  bool Decide(Communicator& communicator);

  std::vector<int64_t> candidates_;  // only the chosen one when done
  const Clock clock_;
  std::vector<double> fastest_;  // in seconds, by candidate
  size_t candidate_ = 0;
  int passes_ = 0;  // passes with the current candidate
  double began_ = 0;
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_BUCKET_TUNER_H_
