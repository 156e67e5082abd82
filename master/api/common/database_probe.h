// Checks whether the database answers. At most one ping runs on the pool at a time, concurrent
// callers share it, and no caller waits past its deadline. Check() may be called on any thread; its
// callback runs on the loop. A ping that hangs blocks one thread of the pool, not all of them.
#ifndef MASTER_API_COMMON_DATABASE_PROBE_H_
#define MASTER_API_COMMON_DATABASE_PROBE_H_

#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/event_loop.h"
#include "base/thread_pool.h"

namespace det::api {

class DatabaseProbe {
 public:
  // A ping that takes longer counts as failed.
  static constexpr absl::Duration kDeadline = absl::Seconds(5);

  using Done = absl::AnyInvocable<void(const absl::Status&)>;

  // `ping` runs on the pool and may block. Pool and loop must outlive the probe, and must have
  // stopped before it dies.
  DatabaseProbe(absl::AnyInvocable<absl::Status()> ping, base::ThreadPool* pool,
                base::EventLoop* loop)
      : ping_(std::move(ping)), pool_(*pool), loop_(*loop) {}

  // Calls `done` with OK, or UNAVAILABLE and the reason. While a ping is past its deadline, calls
  // it at once.
  void Check(Done done);

 private:
  // The following methods run on the loop.
  void Start();
  void OnPingDone(const absl::Status& status);
  void OnTimeout();
  void NotifyWaiting(const absl::Status& status);

  absl::AnyInvocable<absl::Status()> ping_;
  base::ThreadPool& pool_;
  base::EventLoop& loop_;

  // The following members are used on the loop.
  bool pinging_ = false;
  bool timed_out_ = false;  // the running ping is past its deadline
  std::optional<base::TimerId> timer_;
  std::vector<Done> waiting_;
};

}  // namespace det::api

#endif  // MASTER_API_COMMON_DATABASE_PROBE_H_
