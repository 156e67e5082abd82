// Computes the wait before the next attempt: 0.1 s at first, up to 5 s, with jitter so that many
// agents do not reconnect at the same time. Not thread-safe. Neither waits nor reads a clock.
#ifndef AGENT_LINK_BACKOFF_H_
#define AGENT_LINK_BACKOFF_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"
#include "base/rng.h"

namespace det::agent {

class Backoff {
 public:
  static constexpr absl::Duration kInitial = absl::Milliseconds(100);
  static constexpr absl::Duration kMax = absl::Seconds(5);

  explicit Backoff(uint64_t seed) : rng_(seed) {}

  absl::Duration Next() {
    const absl::Duration wait = next_ * (0.5 + 0.5 * rng_.Uniform01());
    next_ = std::min(next_ * 1.6, kMax);
    return wait;
  }
  void Reset() { next_ = kInitial; }

 private:
  base::Rng rng_;
  absl::Duration next_ = kInitial;
};

}  // namespace det::agent

#endif  // AGENT_LINK_BACKOFF_H_
