#include "trial_api/cpp/torch/bucket_tuner.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace det::trial {

BucketTuner::BucketTuner(std::vector<int64_t> candidates, Clock clock)
    : candidates_(std::move(candidates)),
      clock_(std::move(clock)),
      fastest_(candidates_.size(), std::numeric_limits<double>::infinity()) {
  DET_CHECK(!candidates_.empty());
}

std::vector<int64_t> BucketTuner::Candidates(int64_t gradient_bytes) {
  std::vector<int64_t> candidates;
  for (const int64_t megabytes : {1, 4, 10, 25, 64}) {
    candidates.push_back(megabytes << 20);
    if (candidates.back() >= gradient_bytes) break;
  }
  return candidates;
}

void BucketTuner::Begin() { began_ = clock_(); }

bool BucketTuner::End(Communicator& communicator) {
  const double took = clock_() - began_;
  if (passes_ > 0) fastest_[candidate_] = std::min(fastest_[candidate_], took);
  if (++passes_ < kPasses) return false;
  passes_ = 0;
  if (candidate_ + 1 == candidates_.size()) return Decide(communicator);
  ++candidate_;
  return true;
}

bool BucketTuner::Decide(Communicator& communicator) {
  int64_t best = std::min_element(fastest_.begin(), fastest_.end()) - fastest_.begin();
  communicator.Broadcast(&best, sizeof best, 0);
  const int64_t tried_last = bytes();
  candidates_ = {candidates_[static_cast<size_t>(best)]};
  candidate_ = 0;
  return bytes() != tried_last;
}

}  // namespace det::trial
