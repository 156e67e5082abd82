// The lease of the leading master (docs/durability.md, "Lease and standby"). The leader increments
// a counter in the database. A standby that sees the counter unchanged for the length of the lease,
// by its own clock, takes over; a leader that could not renew for that time stops acting before.
// Clocks of different machines are never compared.
//
// LeaseWatch and LeaseHold are pure: they receive the time of a monotonic clock. LeaseKeeper is the
// leader's side, with its own threads.
#ifndef MASTER_APP_LEASE_H_
#define MASTER_APP_LEASE_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "master/app/config.h"
#include "master/store/interfaces/store.h"

namespace det::app {

// The time of a monotonic clock.
absl::Duration GetSteadyTime();

class LeaseWatch {
 public:
  enum class Verdict {
    kNobody,   // no master has led yet: take over
    kAlive,    // wait
    kNoLease,  // the leader keeps no lease; wait
    kOver,     // no renewal for the whole length of the lease: take over
  };

  explicit LeaseWatch(absl::Duration length) : length_(length) {}

  // Processes what the database returned at `now`.
  Verdict Observe(const store::LeaseRecord& lease, absl::Duration now);
  // The database did not respond: the leader may not have been able to renew either, so the wait
  // begins anew.
  void Missed() { last_.reset(); }

 private:
  const absl::Duration length_;
  std::optional<store::LeaseRecord> last_;
  absl::Duration since_;    // time of the last change
  absl::Duration last_at_;  // time of the last observation
};

class LeaseHold {
 public:
  LeaseHold(absl::Duration length, absl::Duration now) : length_(length), renewed_(now) {}

  // `sent`: when the renewal was sent, not when it was confirmed.
  void Renewed(absl::Duration sent) { renewed_ = sent; }
  bool IsOver(absl::Duration now) const { return now >= end(); }
  absl::Duration end() const { return renewed_ + length_; }

 private:
  const absl::Duration length_;
  absl::Duration renewed_;
};

class LeaseKeeper {
 public:
  // Create right after Load. Calls `leads` with false when the lease has expired, and with true
  // when it is renewed again, on a thread of the keeper, which it may block. A newer epoch is
  // reported by Store::OnFenced; then renewals stop.
  LeaseKeeper(store::Store* store, LeaseTimes times, std::function<void(bool)> leads);
  // Waits for a renewal in progress.
  ~LeaseKeeper();

  // Whether the lease is valid now, also right after a suspended process has resumed.
  bool Leads() const;

  // Publishes the leader's URL.
  void Announce(const std::string& leader);

 private:
  void Renew();
  void Guard();

  store::Store& store_;
  const LeaseTimes times_;
  const std::function<void(bool)> leads_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool announced_ = false;
  std::string leader_;
  LeaseHold hold_;
  std::thread renewer_;
  std::thread guard_;  // a separate thread, since a hanging database blocks renewals
};

}  // namespace det::app

#endif  // MASTER_APP_LEASE_H_
