// How long to wait before the next attempt: 0.1 s at first, up to 5 s, with jitter so that a
// hundred agents do not come back at once. Owned by whoever tries again; not thread-safe. Never
// waits itself, reads no clock.
#ifndef AGENT_LINK_BACKOFF_H_
#define AGENT_LINK_BACKOFF_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"
#include "base/rng.h"

namespace det::agent {

class Backoff {
 public:
  static constexpr absl::Duration kFirst = absl::Milliseconds(100);
  static constexpr absl::Duration kLast = absl::Seconds(5);

  explicit Backoff(uint64_t seed) : rng_(seed) {}

  absl::Duration Next() {
    const absl::Duration wait = next_ * (0.5 + 0.5 * rng_.Uniform01());
    next_ = std::min(next_ * 1.6, kLast);
    return wait;
  }
  void Reset() { next_ = kFirst; }

 private:
  base::Rng rng_;
  absl::Duration next_ = kFirst;
};

}  // namespace det::agent

#endif  // AGENT_LINK_BACKOFF_H_
