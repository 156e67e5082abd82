#include "master/store/postgres/summary_backfill.h"

#include <utility>

#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "master/store/postgres/params.h"

namespace det::store {
namespace {

// Reports of a trial wait while its summaries are computed, and other reports wait behind them.
constexpr int kTrialsPerTransaction = 1;
constexpr absl::Duration kBetween = absl::Milliseconds(10);
constexpr absl::Duration kRetryDelay = absl::Seconds(5);  // the pause after an error

}  // namespace

absl::StatusOr<bool> BackfillSummaries(Pool& pool, Fence& fence, int limit) {
  return fence.Run(pool, [&](Connection& connection) -> absl::StatusOr<bool> {
    DET_ASSIGN_OR_RETURN(const Result done,
                         connection.Exec("SELECT sum_up($1)", MakeParams(limit)));
    return done.Int(0, 0) < limit;
  });
}

SummaryBackfill::~SummaryBackfill() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SummaryBackfill::Start() {
  std::lock_guard lock(mutex_);
  if (!stopping_ && !thread_.joinable()) thread_ = std::thread([this] { Run(); });
}

void SummaryBackfill::Run() {
  bool logged = false;
  while (true) {
    const absl::StatusOr<bool> all = BackfillSummaries(pool_, fence_, kTrialsPerTransaction);
    if (all.ok() && *all) break;
    if (!std::exchange(logged, true)) {
      DET_LOG(INFO) << "computing metric summaries of older trials; searches do not find their "
                       "metrics until then";
    }
    if (!all.ok()) {
      DET_LOG(WARNING) << "cannot compute metric summaries of older trials; retrying"
                       << base::Field("error", all.status().message());
    }
    if (!Pause(all.ok() ? kBetween : kRetryDelay)) return;
  }
  if (logged) DET_LOG(INFO) << "metric summaries of all trials are complete";
}

bool SummaryBackfill::Pause(absl::Duration length) {
  std::unique_lock lock(mutex_);
  return !stop_.wait_for(lock, absl::ToChronoMilliseconds(length), [this] { return stopping_; });
}

}  // namespace det::store
