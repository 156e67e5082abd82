// Whether the database answers, found out without a thread that waits for it: one ping at a time is
// under way on the pool, all who ask meanwhile share it, and none waits past its deadline.
//
// Asked on any thread; answers on the loop. Never has more than one ping under way: one that hangs
// keeps one thread of the pool, not all of them.
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
  // A ping that takes longer counts as none.
  static constexpr absl::Duration kDeadline = absl::Seconds(5);

  using Done = absl::AnyInvocable<void(const absl::Status&)>;

  // `ping` runs on the pool and may block. Pool and loop must outlive the probe, and must have
  // stopped before it dies.
  DatabaseProbe(absl::AnyInvocable<absl::Status()> ping, base::ThreadPool* pool,
                base::EventLoop* loop)
      : ping_(std::move(ping)), pool_(*pool), loop_(*loop) {}

  // `done` is given OK, or UNAVAILABLE with the reason: at once while a ping is past its deadline.
  void Ask(Done done);

 private:
  // All on the loop.
  void Start();
  void OnAnswer(const absl::Status& status);
  void OnSilence();
  void Answer(const absl::Status& status);

  absl::AnyInvocable<absl::Status()> ping_;
  base::ThreadPool& pool_;
  base::EventLoop& loop_;

  // On the loop.
  bool under_way_ = false;
  bool silent_ = false;  // the ping under way is past its deadline
  std::optional<base::TimerId> timer_;
  std::vector<Done> waiting_;
};

}  // namespace det::api

#endif  // MASTER_API_COMMON_DATABASE_PROBE_H_
