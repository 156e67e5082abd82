#include "cli/retry_policy.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/api_client.h"
#include "cli/interrupt.h"

namespace det::cli {
namespace {

constexpr absl::Duration kMaxPause = absl::Seconds(2);

}  // namespace

void RetryPolicy::OnResponse() {
  reached_ = true;
  notified_ = false;
  next_pause_ = kFirstPause;
  total_pause_ = absl::ZeroDuration();
}

absl::Status RetryPolicy::WaitBeforeRetry(const absl::Status& failed) {
  DET_RETURN_IF_ERROR(CheckInterrupt());
  if (!absl::IsUnavailable(failed) && !absl::IsAborted(failed)) return failed;
  reached_ = reached_ || !IsUnreachable(failed);
  if (!reached_ || total_pause_ >= limit_) return failed;
  if (screen_ != nullptr && !notified_) {
    screen_->PrintNotice(absl::StrCat("det: the master does not respond; waiting for it for up to ",
                                      absl::FormatDuration(limit_), " (Ctrl-C stops)"));
  }
  notified_ = true;
  if (const absl::Status waited = WaitFor(-1, 0, next_pause_); absl::IsCancelled(waited))
    return waited;
  total_pause_ += next_pause_;
  next_pause_ = std::min(2 * next_pause_, kMaxPause);
  return absl::OkStatus();
}

}  // namespace det::cli
