#include "master/auth/password_queue.h"

#include <utility>

#include "absl/time/time.h"

namespace det::auth {

void PasswordQueue::Run(Work work, Done done) {
  absl::Status refused;
  {
    std::lock_guard lock(mutex_);
    if (stopped_) {
      refused = absl::UnavailableError("the master is stopping; try again later");
    } else if (waiting_ >= kMaxQueued) {
      refused = absl::ResourceExhaustedError(
          "too many passwords are being checked; try again in a few seconds");
    } else {
      ++waiting_;
    }
  }
  if (!refused.ok()) return done(refused);
  thread_.Post([this, work = std::move(work), done = std::move(done)]() mutable {
    const absl::Status status = work();
    {
      std::lock_guard lock(mutex_);
      --waiting_;
    }
    done(status);
  });
}

void PasswordQueue::RunLogin(const std::string& username, Work work, Done done) {
  absl::Duration delay;
  {
    std::lock_guard lock(mutex_);
    delay = failed_.GetDelay(username, loop_->Now());
  }
  Work noted = [this, username, work = std::move(work)]() mutable {
    const absl::Status status = work();
    std::lock_guard lock(mutex_);
    if (status.ok()) failed_.Succeeded(username);
    if (absl::IsUnauthenticated(status)) failed_.Failed(username, loop_->Now());
    return status;
  };
  if (delay == absl::ZeroDuration()) return Run(std::move(noted), std::move(done));
  loop_->PostAfter(delay, [this, noted = std::move(noted), done = std::move(done)]() mutable {
    Run(std::move(noted), std::move(done));
  });
}

void PasswordQueue::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  thread_.Stop();
}

}  // namespace det::auth
