// Computes the metric summaries that a database of an older version lacks (migration 015), in the
// background: one trial at a time, newest first, running trials last, until none are missing.
//
// Start once, on any thread; stops with its owner. Has its own thread, which exits when nothing is
// left.
#ifndef MASTER_STORE_POSTGRES_SUMMARY_BACKFILL_H_
#define MASTER_STORE_POSTGRES_SUMMARY_BACKFILL_H_

#include <condition_variable>
#include <mutex>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/postgres/fence.h"
#include "master/store/postgres/pool.h"

namespace det::store {

// Backfills at most `limit` trials in one fenced transaction. Returns true if none are left.
absl::StatusOr<bool> BackfillSummaries(Pool& pool, Fence& fence, int limit);

class SummaryBackfill {
 public:
  // Both must outlive it.
  SummaryBackfill(Pool* pool, Fence* fence) : pool_(*pool), fence_(*fence) {}
  ~SummaryBackfill();

  // Later calls do nothing.
  void Start();

 private:
  void Run();
  // Waits before the next portion or a retry; returns false when stopping.
  bool Pause(absl::Duration length);

  Pool& pool_;
  Fence& fence_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SUMMARY_BACKFILL_H_
