#include "master/webhooks/retry_policy.h"

#include <algorithm>

namespace det::webhooks {

std::optional<absl::Time> NextAttempt(int attempts, absl::Time raised_at, absl::Time now,
                                      base::Rng& rng) {
  constexpr int kMaxDoublings = 20;  // far beyond kMaxRetryDelay
  const int doublings = std::clamp(attempts - 1, 0, kMaxDoublings);
  const absl::Duration pause =
      std::min(kInitialRetryDelay * (int64_t{1} << doublings), kMaxRetryDelay);
  const absl::Time next = now + pause * (1 - rng.Uniform01() / 2);
  if (next > raised_at + kGiveUpAfter) return std::nullopt;
  return next;
}

}  // namespace det::webhooks
