// Finds the size of buckets with which a backward pass is over soonest, by trying: each candidate
// in some of a run's first batches. The chief's clock decides for all ranks.
//
// Owned by AllReduce, on the training thread. Every rank calls the same.
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
  using Clock = std::function<double()>;  // seconds since some moment

  // Passes with each candidate. The first is not counted: it makes the buckets.
  static constexpr int kPasses = 6;

  // `candidates`: bytes of a bucket; at least one.
  BucketTuner(std::vector<int64_t> candidates, Clock clock);

  // Those worth trying for so many bytes of gradients in all, the smallest first: buckets that hold
  // everything differ in nothing.
  static std::vector<int64_t> Candidates(int64_t gradient_bytes);

  // To be used for the next backward pass.
  int64_t bytes() const { return candidates_[candidate_]; }
  bool done() const { return candidates_.size() == 1; }

  // Around a backward pass and the sums of its gradients, while not done(). End() is collective; it
  // returns whether bytes() is another one now. Throws PeerGone.
  void Begin();
  bool End(Communicator& communicator);

 private:
  bool Decide(Communicator& communicator);

  std::vector<int64_t> candidates_;  // the chosen one alone, when done
  const Clock clock_;
  std::vector<double> fastest_;  // seconds, by candidate
  size_t candidate_ = 0;
  int passes_ = 0;  // with it so far
  double began_ = 0;
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_BUCKET_TUNER_H_
