// One thread that runs functions in turn: what is touched only on it needs no lock.
// Posted to by everybody, from any thread; the functions run on the loop's own thread.
// Never runs two functions at once, never runs one inside Post, never wakes up with nothing to do.
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

  // As Stop().
  virtual ~EventLoop() = default;

  // Runs `fn` after all that were posted before. After Stop() it is dropped.
  virtual void Post(Function fn) = 0;

  // Runs `fn` when Now() has reached `at`, at once if that is past. Timers that are due together
  // run in the order of their times, then of these calls. After Stop() it is dropped.
  virtual TimerId PostAt(absl::Time at, Function fn) = 0;
  TimerId PostAfter(absl::Duration delay, Function fn) {
    return PostAt(Now() + delay, std::move(fn));
  }

  // True if the timer will not run for this; false if it has run, runs now, or is unknown. Called
  // on the loop, true means that it never runs.
  virtual bool Cancel(TimerId timer) = 0;

  // Whether the caller is a function that this loop runs.
  virtual bool RunsHere() const = 0;

  // The time of day. When the system's clock is set, this follows, but timers that are set already
  // keep their delay.
  virtual absl::Time Now() const = 0;

  // Runs what has been posted, and what that posts; drops timers; ends the thread. Later calls do
  // nothing. REQUIRES !RunsHere().
  virtual void Stop() = 0;
};

// A loop with a thread of its own, named `name` (15 characters are shown by the system's tools).
std::unique_ptr<EventLoop> MakeAsioEventLoop(const std::string& name);

}  // namespace det::base

#endif  // BASE_EVENT_LOOP_H_
