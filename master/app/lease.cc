#include "master/app/lease.h"

#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "base/log.h"

namespace det::app {

absl::Duration GetSteadyTime() {
  return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

LeaseWatch::Verdict LeaseWatch::Observe(const store::LeaseRecord& lease, absl::Duration now) {
  if (lease.epoch == 0) return Verdict::kNobody;
  if (!lease.renewals) {
    last_.reset();
    return Verdict::kNoLease;
  }
  // A process that was suspended has not observed the lease meanwhile.
  const bool watched = last_ && now - last_at_ <= length_ / 2;
  if (!watched || last_->epoch != lease.epoch || last_->renewals != lease.renewals) since_ = now;
  last_ = lease;
  last_at_ = now;
  return now - since_ >= length_ ? Verdict::kOver : Verdict::kAlive;
}

LeaseKeeper::LeaseKeeper(store::Store* store, LeaseTimes times, std::function<void(bool)> leads)
    : store_(*store),
      times_(times),
      leads_(std::move(leads)),
      hold_(times.length, GetSteadyTime()),
      renewer_([this] { Renew(); }),
      guard_([this] { Guard(); }) {}

LeaseKeeper::~LeaseKeeper() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  renewer_.join();
  guard_.join();
}

void LeaseKeeper::Announce(const std::string& leader) {
  {
    std::lock_guard lock(mutex_);
    leader_ = leader;
    announced_ = true;
  }
  changed_.notify_all();
}

bool LeaseKeeper::Leads() const {
  std::lock_guard lock(mutex_);
  return !hold_.IsOver(GetSteadyTime());
}

void LeaseKeeper::Renew() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    announced_ = false;
    const std::string leader = leader_;
    lock.unlock();
    const absl::Duration sent = GetSteadyTime();
    const absl::Status renewed = store_.RenewLease(leader);
    lock.lock();
    if (absl::IsAborted(renewed)) return;
    if (renewed.ok()) {
      hold_.Renewed(sent);
      changed_.notify_all();
    }
    changed_.wait_for(lock, absl::ToChronoNanoseconds(times_.renew_every),
                      [this] { return stopping_ || announced_; });
  }
}

void LeaseKeeper::Guard() {
  bool notified = true;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const absl::Duration now = GetSteadyTime();
    const bool leads = !hold_.IsOver(now);
    if (leads != notified) {
      notified = leads;
      lock.unlock();
      if (leads) {
        DET_LOG(INFO) << "lease renewed; this master leads again";
      } else {
        DET_LOG(WARNING) << "lease renewal failed; disconnecting agents until it succeeds"
                         << base::Field("for", absl::FormatDuration(times_.length));
      }
      leads_(leads);
      lock.lock();
      continue;
    }
    if (leads) {
      changed_.wait_for(lock, absl::ToChronoNanoseconds(hold_.end() - now));
    } else {
      changed_.wait(lock);
    }
  }
}

}  // namespace det::app
