// A queue of audit records that a thread writes to the store in batches, so that responses do not
// wait.
//
// Created by master.cc. The call pipeline calls Append() for each call that changes something, on
// any thread. The line in the master's log is written even if the record is lost.
#ifndef MASTER_API_AUDIT_AUDIT_TRAIL_H_
#define MASTER_API_AUDIT_AUDIT_TRAIL_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "master/store/interfaces/audit.h"

namespace det::api {

class AuditTrail {
 public:
  // Calls `on_lost` with the number of records that were dropped, because the queue was full, the
  // store rejected them, or the store was unavailable until Stop(). It runs on any thread and may
  // be null. The store must outlive the trail. The queue holds at most `max_queued` records.
  AuditTrail(store::Audit* store, std::function<void(int64_t)> on_lost, size_t max_queued = 10'000);
  // Calls Stop().
  ~AuditTrail();

  // Does not block.
  void Append(store::AuditRecord record);

  // Returns when all records that were appended before are written or dropped.
  void Flush();

  // Writes the queued records and ends the thread. Records that are appended later are lost.
  // Idempotent.
  void Stop();

 private:
  void Run();
  // Retries while the store is unavailable. If the store rejects the batch, writes each record
  // alone.
  void Write(const std::vector<store::AuditRecord>& records);
  // Waits before a retry. Returns false if the trail is stopping and there is no retry.
  bool WaitForRetry();
  void ReportLost(size_t count);

  store::Audit& store_;
  const std::function<void(int64_t)> on_lost_;
  const size_t max_queued_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<store::AuditRecord> queue_;
  bool writing_ = false;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace det::api

#endif  // MASTER_API_AUDIT_AUDIT_TRAIL_H_
