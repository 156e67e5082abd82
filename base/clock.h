// The time of day as a dependency, so that tests can control it. Components with I/O (services,
// writers, links) hold a Clock; PURE code is passed a time instead. Called on any thread. Never
// sleeps and never calls back: timers belong to the event loop.
#ifndef BASE_CLOCK_H_
#define BASE_CLOCK_H_

#include <mutex>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace det::base {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;
};

class RealClock : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }
};

// Returns the same time until a test changes it.
class FakeClock : public Clock {
 public:
  explicit FakeClock(absl::Time now = absl::FromUnixSeconds(1'700'000'000)) : now_(now) {}

  absl::Time Now() const override {
    std::lock_guard lock(mutex_);
    return now_;
  }
  void Set(absl::Time now) {
    std::lock_guard lock(mutex_);
    now_ = now;
  }
  void Advance(absl::Duration by) {
    std::lock_guard lock(mutex_);
    now_ += by;
  }

 private:
  mutable std::mutex mutex_;
  absl::Time now_;
};

}  // namespace det::base

#endif  // BASE_CLOCK_H_
