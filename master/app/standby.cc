#include "master/app/standby.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace det::app {
namespace {

using Verdict = LeaseWatch::Verdict;

// The log gets a line when what is waited for changes.
class Notes {
 public:
  void Say(const std::string& text) {
    if (text == last_) return;
    last_ = text;
    DET_LOG(INFO) << text;
  }

 private:
  std::string last_;
};

std::string WaitingFor(const store::LeaseRecord& lease, bool has_lease) {
  const std::string leader = absl::StrCat("the leader", lease.leader.empty() ? "" : " at ",
                                          lease.leader, " (epoch ", lease.epoch, ")");
  if (has_lease) return absl::StrCat("standing by; ", leader, " is alive");
  return absl::StrCat("standing by; ", leader,
                      " gives no signs of life, as masters without --db-url and of older versions "
                      "do, so its end will not be noticed; to replace it, start one master without "
                      "--standby");
}

}  // namespace

absl::Status AwaitLead(store::Store& store, const LeaseTimes& times, StopWithin& stop_within) {
  LeaseWatch watch(times.length);
  Notes notes;
  // Often enough that the time between two looks does not count beside the length.
  const absl::Duration pause = std::min(times.renew_every / 2, times.length / 6);
  do {
    const absl::StatusOr<store::LeaseRecord> lease = store.ReadLease();
    if (!lease.ok()) {
      watch.Missed();
      notes.Say(absl::StrCat("standing by; ", lease.status().message()));
      continue;
    }
    const Verdict verdict = watch.Observe(*lease, SteadyNow());
    if (verdict == Verdict::kNobody) return absl::OkStatus();
    if (verdict == Verdict::kOver) {
      DET_LOG(WARNING) << "the leader gave no sign of life; taking over"
                       << base::Field("leader", lease->leader)
                       << base::Field("for", absl::FormatDuration(times.length));
      const absl::StatusOr<bool> claimed = store.ClaimLease(lease->epoch);
      if (claimed.ok() && *claimed) return absl::OkStatus();
      watch.Missed();
    } else {
      notes.Say(WaitingFor(*lease, verdict == Verdict::kAlive));
    }
  } while (!stop_within(pause));
  return absl::CancelledError("stopped while standing by");
}

}  // namespace det::app
