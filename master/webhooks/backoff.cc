#include "master/webhooks/backoff.h"

#include <algorithm>

namespace det::webhooks {

std::optional<absl::Time> NextAttempt(int attempts, absl::Time raised_at, absl::Time now,
                                      base::Rng& rng) {
  constexpr int kMostDoublings = 20;  // far beyond the longest pause
  const int doublings = std::clamp(attempts - 1, 0, kMostDoublings);
  const absl::Duration pause = std::min(kFirstPause * (int64_t{1} << doublings), kLongestPause);
  const absl::Time next = now + pause * (1 - rng.Uniform01() / 2);
  if (next > raised_at + kGiveUpAfter) return std::nullopt;
  return next;
}

}  // namespace det::webhooks
