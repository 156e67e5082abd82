// Who may lead, by signs of life in the database; no two clocks are compared (docs/durability.md,
// "Lease and standby"). The leader counts a number up; a standby that sees it unchanged for the
// lease's length, by its own clock, takes over; a leader that could not count for as long stops to
// command before that.
//
// LeaseWatch and LeaseHold are rules: they read no clock, and are given the time since any moment,
// by a clock that nobody sets. LeaseKeeper is the leader's end, with threads of its own.
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
#include "master/app/lease_times.h"
#include "master/store/interfaces/store.h"

namespace det::app {

// Of a clock that only goes forward.
absl::Duration SteadyNow();

class LeaseWatch {
 public:
  enum class Verdict {
    kNobody,   // nobody has led yet: lead
    kAlive,    // wait
    kNoLease,  // the leader gives no signs of life; nothing follows from their absence
    kOver,     // no sign for the lease's length, all of which was watched: lead
  };

  explicit LeaseWatch(absl::Duration length) : length_(length) {}

  // The database said so at `now`.
  Verdict Observe(const store::LeaseRecord& lease, absl::Duration now);
  // The database said nothing: the leader could not write either, and begins anew as we do.
  void Missed() { last_.reset(); }

 private:
  const absl::Duration length_;
  std::optional<store::LeaseRecord> last_;
  absl::Duration since_;    // as long has it been like this
  absl::Duration last_at_;  // of the last observation
};

class LeaseHold {
 public:
  LeaseHold(absl::Duration length, absl::Duration now) : length_(length), renewed_(now) {}

  // `sent`: when the sign was sent, not when it was answered.
  void Renewed(absl::Duration sent) { renewed_ = sent; }
  bool IsOver(absl::Duration now) const { return now >= end(); }
  absl::Duration end() const { return renewed_ + length_; }

 private:
  const absl::Duration length_;
  absl::Duration renewed_;
};

class LeaseKeeper {
 public:
  // Right after Load. `leads` is told false when the lease has run out, and true when it is renewed
  // again; on a thread of the keeper's, which it may hold up. That the epoch is over the store says
  // itself (Store::OnFenced); then no sign follows.
  LeaseKeeper(store::Store* store, LeaseTimes times, std::function<void(bool)> leads);
  // Waits for a renewal that is under way.
  ~LeaseKeeper();

  // By the clock, at once also after a process that was stopped goes on.
  bool Leads() const;

  // Where the leader answers, from now on.
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
  std::thread guard_;  // not the same: a database that hangs holds up the renewal
};

}  // namespace det::app

#endif  // MASTER_APP_LEASE_H_
