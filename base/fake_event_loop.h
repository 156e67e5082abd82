// An EventLoop without a thread, in virtual time: the test that owns it turns it by hand.
// Called by tests and by the simulation, on one thread only. Never sleeps, never reads a clock:
// the same calls give the same order, always.
#ifndef BASE_FAKE_EVENT_LOOP_H_
#define BASE_FAKE_EVENT_LOOP_H_

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "absl/time/time.h"
#include "base/check.h"
#include "base/event_loop.h"

namespace det::base {

class FakeEventLoop final : public EventLoop {
 public:
  explicit FakeEventLoop(absl::Time now = absl::FromUnixSeconds(1'700'000'000)) : now_(now) {}
  ~FakeEventLoop() override { Stop(); }

  void Post(Function fn) override {
    if (!stopped_) ready_.push_back(std::move(fn));
  }

  TimerId PostAt(absl::Time at, Function fn) override {
    const TimerId id(++last_timer_);
    if (!stopping_) timers_.emplace(std::pair(at, id), std::move(fn));
    return id;
  }

  bool Cancel(TimerId timer) override {
    for (auto it = timers_.begin(); it != timers_.end(); ++it) {
      if (it->first.second != timer) continue;
      timers_.erase(it);
      return true;
    }
    return false;
  }

  bool RunsHere() const override { return running_; }
  absl::Time Now() const override { return now_; }

  void Stop() override {
    DET_CHECK(!running_) << "a loop cannot wait for itself";
    stopping_ = true;
    timers_.clear();
    RunUntilIdle();
    stopped_ = true;
  }

  // Runs what is posted or due now, and what that adds, until nothing is left at this time.
  void RunUntilIdle() {
    DET_CHECK(!running_) << "turned by a function that it runs";
    while (true) {
      if (!ready_.empty()) {
        Function fn = std::move(ready_.front());
        ready_.pop_front();
        Run(std::move(fn));
      } else if (!timers_.empty() && timers_.begin()->first.first <= now_) {
        Function fn = std::move(timers_.begin()->second);
        timers_.erase(timers_.begin());
        Run(std::move(fn));
      } else {
        return;
      }
    }
  }

  // Goes from timer to timer up to `time`, running each at its own time. Never goes back.
  void AdvanceTo(absl::Time time) {
    RunUntilIdle();
    while (!timers_.empty() && timers_.begin()->first.first <= time) {
      now_ = timers_.begin()->first.first;
      RunUntilIdle();
    }
    if (now_ < time) now_ = time;
  }
  void Advance(absl::Duration by) { AdvanceTo(now_ + by); }

  // When the first timer is due; InfiniteFuture without one.
  absl::Time NextTimer() const {
    return timers_.empty() ? absl::InfiniteFuture() : timers_.begin()->first.first;
  }
  bool Idle() const { return ready_.empty() && NextTimer() > now_; }

 private:
  void Run(Function fn) {
    running_ = true;
    fn();
    running_ = false;
  }

  absl::Time now_;
  bool running_ = false;
  bool stopping_ = false;
  bool stopped_ = false;
  int64_t last_timer_ = 0;
  std::deque<Function> ready_;
  std::map<std::pair<absl::Time, TimerId>, Function> timers_;
};

}  // namespace det::base

#endif  // BASE_FAKE_EVENT_LOOP_H_
