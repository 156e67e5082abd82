// Makes the summaries of metrics that a database of an older version lacks (migration 015), beside
// everything else: a trial at a time, those that run last, else the newest first, until there are
// none left.
//
// Start once, by any thread; ends with its owner. A thread of its own, gone when nothing is left.
#ifndef MASTER_STORE_POSTGRES_SUMMARY_BACKFILL_H_
#define MASTER_STORE_POSTGRES_SUMMARY_BACKFILL_H_

#include <condition_variable>
#include <mutex>
#include <thread>

#include "absl/status/statusor.h"
#include "master/store/postgres/fence.h"
#include "master/store/postgres/pool.h"

namespace det::store {

// Those of at most `limit` trials, in one transaction under the epoch. True: that was all.
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
  // Before the next portion, or another try; false: it stops.
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
