#include "master/app/standby.h"

#include <algorithm>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace det::app {
namespace {

using Verdict = LeaseWatch::Verdict;

// Logs a line when the state changes.
class StateLog {
 public:
  void Log(const std::string& text) {
    if (text == last_) return;
    last_ = text;
    DET_LOG(INFO) << text;
  }

 private:
  std::string last_;
};

std::string FormatWaiting(const store::LeaseRecord& lease, bool has_lease) {
  const std::string leader = absl::StrCat("the leader", lease.leader.empty() ? "" : " at ",
                                          lease.leader, " (epoch ", lease.epoch, ")");
  if (has_lease) return absl::StrCat("standing by; ", leader, " is alive");
  return absl::StrCat("standing by; ", leader,
                      " keeps no lease (it runs without --db-url, or is an older version), so "
                      "its failure cannot be detected; to replace it, start one master without "
                      "--standby");
}

}  // namespace

absl::Status AwaitLead(store::Store& store, const LeaseTimes& times, WaitForStop& wait_for_stop) {
  LeaseWatch watch(times.length);
  StateLog state_log;
  // Polls often compared with the length of the lease.
  const absl::Duration pause = std::min(times.renew_every / 2, times.length / 6);
  do {
    const absl::StatusOr<store::LeaseRecord> lease = store.ReadLease();
    if (!lease.ok()) {
      watch.Missed();
      state_log.Log(absl::StrCat("standing by; ", lease.status().message()));
      continue;
    }
    const Verdict verdict = watch.Observe(*lease, GetSteadyTime());
    if (verdict == Verdict::kNobody) return absl::OkStatus();
    if (verdict == Verdict::kOver) {
      DET_LOG(WARNING) << "the leader's lease has expired; taking over"
                       << base::Field("leader", lease->leader)
                       << base::Field("for", absl::FormatDuration(times.length));
      const absl::StatusOr<bool> claimed = store.ClaimLease(lease->epoch);
      if (claimed.ok() && *claimed) return absl::OkStatus();
      watch.Missed();
    } else {
      state_log.Log(FormatWaiting(*lease, verdict == Verdict::kAlive));
    }
  } while (!wait_for_stop(pause));
  return absl::CancelledError("stopped while standing by");
}

}  // namespace det::app
