// One thread that runs functions one after the other, so data that only this thread uses needs no
// lock. Functions are posted from any thread and run on the loop's own thread. The loop never runs
// two functions at once, never runs a function inside Post, and never wakes up without work.
#ifndef BASE_EVENT_LOOP_H_
#define BASE_EVENT_LOOP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "base/id.h"

namespace det::base {

using TimerId = Id<struct TimerIdTag, int64_t>;

class EventLoop {
 public:
  using Function = absl::AnyInvocable<void()>;

  // Same as Stop().
  virtual ~EventLoop() = default;

  // Runs `fn` after all functions that were posted before. Does nothing after Stop().
  virtual void Post(Function fn) = 0;

  // Runs `fn` when Now() reaches `at`; at once if `at` is in the past. Timers that are due together
  // run in the order of their times, then in the order of these calls. Does nothing after Stop().
  virtual TimerId PostAt(absl::Time at, Function fn) = 0;
  TimerId PostAfter(absl::Duration delay, Function fn) {
    return PostAt(Now() + delay, std::move(fn));
  }

  // Returns true if this call cancels the timer; false if the timer has run, is running now, or is
  // unknown. If called on the loop's thread, true guarantees that the timer never runs.
  virtual bool Cancel(TimerId timer) = 0;

  // Returns whether the caller runs on this loop's thread.
  virtual bool IsOnLoopThread() const = 0;

  // Returns the time of day. If the system's clock is set, Now() follows it, but timers that are
  // already set keep their delay.
  virtual absl::Time Now() const = 0;

  // Runs the functions that were posted, and those that they post; drops timers; ends the thread.
  // Later calls do nothing. REQUIRES !IsOnLoopThread().
  virtual void Stop() = 0;
};

// Creates a loop with its own thread. `name` is the thread's name; Linux shows its first 15
// characters.
std::unique_ptr<EventLoop> MakeAsioEventLoop(const std::string& name);

}  // namespace det::base

#endif  // BASE_EVENT_LOOP_H_
