#include "master/store/postgres/summary_backfill.h"

#include <utility>

#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "master/store/postgres/params.h"

namespace det::store {
namespace {

// Reports of a trial wait while it is summed up, and others behind them.
constexpr int kTrialsAtOnce = 1;
constexpr absl::Duration kBetween = absl::Milliseconds(10);
constexpr absl::Duration kAgainAfter = absl::Seconds(5);  // where the database was away

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
  bool said = false;
  while (true) {
    const absl::StatusOr<bool> all = BackfillSummaries(pool_, fence_, kTrialsAtOnce);
    if (all.ok() && *all) break;
    if (!std::exchange(said, true)) {
      DET_LOG(INFO)
          << "metrics of older trials are summed up; until then searches do not find them";
    }
    if (!all.ok()) {
      DET_LOG(WARNING) << "older metrics are not summed up now, and later tried again"
                       << base::Field("error", all.status().message());
    }
    if (!Pause(all.ok() ? kBetween : kAgainAfter)) return;
  }
  if (said) DET_LOG(INFO) << "metrics of all trials are summed up";
}

bool SummaryBackfill::Pause(absl::Duration length) {
  std::unique_lock lock(mutex_);
  return !stop_.wait_for(lock, absl::ToChronoMilliseconds(length), [this] { return stopping_; });
}

}  // namespace det::store
