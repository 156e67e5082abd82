// When a delivery that failed is tried again. PURE.
#ifndef MASTER_WEBHOOKS_RETRY_POLICY_H_
#define MASTER_WEBHOOKS_RETRY_POLICY_H_

#include <optional>

#include "absl/time/time.h"
#include "base/rng.h"

namespace det::webhooks {

inline constexpr absl::Duration kInitialRetryDelay = absl::Seconds(2);
inline constexpr absl::Duration kMaxRetryDelay = absl::Hours(1);
// After that long it is given up.
inline constexpr absl::Duration kGiveUpAfter = absl::Hours(24);

// After `attempts` >= 1 attempts, the last of them at `now`: twice the pause of the one before, of
// which `rng` takes up to a half away, so that many that failed together do not come back together.
// Nullopt: given up.
std::optional<absl::Time> NextAttempt(int attempts, absl::Time raised_at, absl::Time now,
                                      base::Rng& rng);

}  // namespace det::webhooks

#endif  // MASTER_WEBHOOKS_RETRY_POLICY_H_
