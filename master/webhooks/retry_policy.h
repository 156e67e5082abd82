// When a failed delivery is retried. PURE.
#ifndef MASTER_WEBHOOKS_RETRY_POLICY_H_
#define MASTER_WEBHOOKS_RETRY_POLICY_H_

#include <optional>

#include "absl/time/time.h"
#include "base/rng.h"

namespace det::webhooks {

inline constexpr absl::Duration kInitialRetryDelay = absl::Seconds(2);
inline constexpr absl::Duration kMaxRetryDelay = absl::Hours(1);
// A delivery fails permanently after this time.
inline constexpr absl::Duration kGiveUpAfter = absl::Hours(24);

// The time of the next attempt, after `attempts` >= 1 attempts, the last of them at `now`. The
// delay doubles each time; `rng` shortens it by up to a half, so that deliveries that failed
// together are not retried together. Nullopt: no more attempts.
std::optional<absl::Time> NextAttempt(int attempts, absl::Time raised_at, absl::Time now,
                                      base::Rng& rng);

}  // namespace det::webhooks

#endif  // MASTER_WEBHOOKS_RETRY_POLICY_H_
