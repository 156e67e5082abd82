// An EventLoop without a thread, in virtual time: the test that owns it runs it step by step. Used
// by tests and by the simulation, on one thread only. Never sleeps and never reads a clock, so the
// same calls always give the same order.
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

  bool IsOnLoopThread() const override { return running_; }
  absl::Time Now() const override { return now_; }

  void Stop() override {
    DET_CHECK(!running_) << "Stop() was called from a function of the loop";
    stopping_ = true;
    timers_.clear();
    RunUntilIdle();
    stopped_ = true;
  }

  // Runs the functions that are posted or due now, and those that they add, until none is left at
  // this time.
  void RunUntilIdle() {
    while (RunOne()) {
    }
  }

  // Runs only the next of these functions. Returns false if there is none.
  bool RunOne() {
    DET_CHECK(!running_) << "called from a function of the loop";
    Function fn;
    if (!ready_.empty()) {
      fn = std::move(ready_.front());
      ready_.pop_front();
    } else if (!timers_.empty() && timers_.begin()->first.first <= now_) {
      fn = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
    } else {
      return false;
    }
    running_ = true;
    fn();
    running_ = false;
    return true;
  }

  // Moves from timer to timer until `time`, and runs each timer at its own time. Never moves back.
  void AdvanceTo(absl::Time time) {
    RunUntilIdle();
    while (!timers_.empty() && timers_.begin()->first.first <= time) {
      now_ = timers_.begin()->first.first;
      RunUntilIdle();
    }
    if (now_ < time) now_ = time;
  }
  void Advance(absl::Duration by) { AdvanceTo(now_ + by); }

  // Moves the time forward without running anything.
  void AdvanceClock(absl::Duration by) { now_ += by; }

  // Simulates that the system's clock is set to `time`.
  void SetClock(absl::Time time) {
    const absl::Duration by = time - std::exchange(now_, time);
    for (auto& [due, fn] : std::exchange(timers_, {})) {
      timers_.emplace(std::pair(due.first + by, due.second), std::move(fn));
    }
  }

  // Simulates a kill of the process: waiting functions are dropped and never run.
  void Kill() {
    DET_CHECK(!running_) << "Kill() was called from a function of the loop";
    stopping_ = stopped_ = true;
    timers_.clear();
    ready_.clear();
  }

  // Returns when the first timer is due; InfiniteFuture if there is none.
  absl::Time NextTimer() const {
    return timers_.empty() ? absl::InfiniteFuture() : timers_.begin()->first.first;
  }
  bool IsIdle() const { return ready_.empty() && NextTimer() > now_; }
  bool HasPosted() const { return !ready_.empty(); }

 private:
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
