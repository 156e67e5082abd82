// Hashes and checks passwords on its own thread with a short queue, so that logins slow down only
// each other.
//
// Called by the services on any thread; `done` is called on the queue's thread, or immediately with
// an error. Never stores a password.
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
  using Work = absl::AnyInvocable<absl::Status()>;  // may block: hashes, and accesses the store
  using Done = absl::AnyInvocable<void(absl::Status)>;

  static constexpr int kMaxQueued = 64;

  // `loop` must outlive it; for timers.
  explicit PasswordQueue(base::EventLoop* loop) : loop_(loop) {}

  // Calls `done(work())`. RESOURCE_EXHAUSTED if the queue is full.
  void Run(Work work, Done done);

  // The same for a login, delayed if previous logins of the user have failed. A login has failed if
  // `work` returns PERMISSION_DENIED.
  void RunLogin(const std::string& username, Work work, Done done);

  // Runs the queued work and stops the thread. Later calls get UNAVAILABLE.
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
