#include "cli/retry_policy.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/api_client.h"
#include "cli/interrupt.h"

namespace det::cli {
namespace {

constexpr absl::Duration kLongest = absl::Seconds(2);

}  // namespace

void Patience::Answered() {
  reached_ = true;
  said_ = false;
  next_ = kFirst;
  paused_ = absl::ZeroDuration();
}

absl::Status Patience::Pause(const absl::Status& failed) {
  DET_RETURN_IF_ERROR(CheckInterrupt());
  if (!absl::IsUnavailable(failed) && !absl::IsAborted(failed)) return failed;
  reached_ = reached_ || !NobodyAnswered(failed);
  if (!reached_ || paused_ >= limit_) return failed;
  if (screen_ != nullptr && !said_) {
    screen_->Note(absl::StrCat("det: the master does not respond; waiting for it for up to ",
                               absl::FormatDuration(limit_), " (Ctrl-C stops)"));
  }
  said_ = true;
  if (const absl::Status waited = WaitFor(-1, 0, next_); absl::IsCancelled(waited)) return waited;
  paused_ += next_;
  next_ = std::min(2 * next_, kLongest);
  return absl::OkStatus();
}

}  // namespace det::cli
