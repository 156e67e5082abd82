// Where passwords are hashed and checked: one thread of its own with a short queue, so that those
// who log in slow nobody but each other.
//
// Called by the services on any thread; `done` is called on the queue's, or at once with a refusal.
// Never keeps a password.
#ifndef MASTER_AUTH_PASSWORD_QUEUE_H_
#define MASTER_AUTH_PASSWORD_QUEUE_H_

#include <memory>
#include <mutex>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "base/event_loop.h"
#include "base/thread_pool.h"
#include "master/auth/failed_logins.h"

namespace det::auth {

class PasswordQueue {
 public:
  using Work = absl::AnyInvocable<absl::Status()>;  // hashes, and may read and write the store
  using Done = absl::AnyInvocable<void(absl::Status)>;

  static constexpr int kMaxQueued = 64;

  // `loop` must outlive it; for timers.
  explicit PasswordQueue(base::EventLoop* loop) : loop_(loop) {}

  // Calls `done(work())`. RESOURCE_EXHAUSTED when too many wait already.
  void Run(Work work, Done done);

  // The same for a login: later, when that user's last ones have failed. One fails that ends in
  // PERMISSION_DENIED.
  void RunLogin(const std::string& username, Work work, Done done);

  // Runs what waits in the queue, ends the thread. What is run later hears UNAVAILABLE.
  void Stop();

 private:
  base::EventLoop* const loop_;
  std::mutex mutex_;
  FailedLogins failed_;
  int waiting_ = 0;
  bool stopped_ = false;
  base::ThreadPool thread_{1};
};

}  // namespace det::auth

#endif  // MASTER_AUTH_PASSWORD_QUEUE_H_
