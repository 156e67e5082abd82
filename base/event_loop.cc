#include "base/event_loop.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "base/check.h"
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace det::base {
namespace {

namespace asio = boost::asio;

// Returns the time since the machine's start as a time since 1970. Nobody can set this clock.
absl::Time SteadyNow() {
  return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

// Keeps the timers in order; Asio is asked to wake the thread for the first one only.
class AsioEventLoop final : public EventLoop {
 public:
  explicit AsioEventLoop(const std::string& name)
      : work_(asio::make_work_guard(context_)),
        alarm_(context_),
        thread_([this] { context_.run(); }) {
    pthread_setname_np(thread_.native_handle(), name.substr(0, 15).c_str());
  }

  ~AsioEventLoop() override { Stop(); }

  void Post(Function fn) override {
    std::lock_guard lock(mutex_);
    if (!stopped_) PostLocked(std::move(fn));
  }

  TimerId PostAt(absl::Time at, Function fn) override {
    std::lock_guard lock(mutex_);
    const TimerId id(++last_timer_);
    if (stopping_) return id;
    CheckOffset();
    const absl::Time due = at - offset_;
    times_.emplace(id, due);
    const auto place = timers_.emplace(std::pair(due, id), std::move(fn)).first;
    if (place == timers_.begin()) PostLocked([this] { SetAlarm(); });
    return id;
  }

  // The alarm remains set; it will find nothing due.
  bool Cancel(TimerId timer) override {
    // Destroyed after the lock is released, because its destructor may do anything.
    Function dropped;
    std::lock_guard lock(mutex_);
    const auto time = times_.find(timer);
    if (time == times_.end()) return false;
    const auto place = timers_.find(std::pair(time->second, timer));
    dropped = std::move(place->second);
    timers_.erase(place);
    times_.erase(time);
    return true;
  }

  bool IsOnLoopThread() const override {
    return const_cast<asio::io_context&>(context_).get_executor().running_in_this_thread();
  }

  absl::Time Now() const override {
    std::lock_guard lock(mutex_);
    CheckOffset();
    return SteadyNow() + offset_;
  }

  void Stop() override {
    DET_CHECK(!IsOnLoopThread()) << "Stop() was called on the loop's own thread";
    std::lock_guard stop_lock(stop_mutex_);
    if (!thread_.joinable()) return;
    std::map<std::pair<absl::Time, TimerId>, Function> dropped;
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      dropped.swap(timers_);
      times_.clear();
      PostLocked([this] {
        alarm_.cancel();
        work_.reset();
      });
    }
    thread_.join();
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }

 private:
  // Asio does not copy functions, so move-only ones are allowed.
  void PostLocked(Function fn) {
    asio::post(context_, [fn = std::move(fn)]() mutable { fn(); });
  }

  // Runs on the loop's thread: sets the alarm to the first timer.
  void SetAlarm() {
    std::lock_guard lock(mutex_);
    if (timers_.empty() || stopping_) return;
    // The range of std::chrono is smaller than that of absl::Time, so a timer in the far future is
    // approached in steps.
    const absl::Duration wait = std::clamp(timers_.begin()->first.first - SteadyNow(),
                                           absl::ZeroDuration(), absl::Hours(24 * 365));
    alarm_.expires_after(absl::ToChronoNanoseconds(absl::Ceil(wait, absl::Microseconds(1))));
    alarm_.async_wait([this](const boost::system::error_code& error) {
      if (!error) RunDue();
    });
  }

  // Runs on the loop's thread: runs the timers that are due now, without those that they add.
  void RunDue() {
    const absl::Time now = SteadyNow();
    while (true) {
      Function fn;
      {
        std::lock_guard lock(mutex_);
        if (timers_.empty() || timers_.begin()->first.first > now) break;
        times_.erase(timers_.begin()->first.second);
        fn = std::move(timers_.begin()->second);
        timers_.erase(timers_.begin());
      }
      fn();
    }
    SetAlarm();
  }

  // The difference of the two clocks jitters, which would reorder timers. One offset is therefore
  // used until the clocks differ from it by more than 100 ms, because the system's clock was set or
  // has drifted.
  void CheckOffset() const {
    const absl::Duration offset = absl::Now() - SteadyNow();
    if (absl::AbsDuration(offset - offset_) > absl::Milliseconds(100)) offset_ = offset;
  }

  mutable std::mutex mutex_;
  mutable absl::Duration offset_ = absl::Now() - SteadyNow();  // From steady time to Now().
  bool stopping_ = false;                                      // Timers are no longer accepted.
  bool stopped_ = false;                                       // Functions are no longer accepted.
  int64_t last_timer_ = 0;
  // Ordered by steady time, so that setting the clock neither delays nor hastens timers that are
  // already set.
  std::map<std::pair<absl::Time, TimerId>, Function> timers_;
  std::map<TimerId, absl::Time> times_;

  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::steady_timer alarm_;
  std::mutex stop_mutex_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<EventLoop> MakeAsioEventLoop(const std::string& name) {
  return std::make_unique<AsioEventLoop>(name);
}

}  // namespace det::base
