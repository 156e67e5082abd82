// Audit records on their way to the store: written behind the answers, in batches.
//
// Made by master.cc. Note() is called by call.h for each call that changes something, on any
// thread; a thread of its own writes. The line in the log stays, whatever becomes of the record.
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
  // `on_lost` hears how many records were given up, as the queue was full or the store refused
  // them, or was away to the end; any thread; may be null. The store must outlive it. At most
  // `most` records wait.
  AuditTrail(store::Audit* store, std::function<void(int64_t)> on_lost, size_t most = 10'000);
  // As Stop().
  ~AuditTrail();

  // Never waits.
  void Note(store::AuditRecord record);

  // Returns once all that was noted before is written or given up.
  void Flush();

  // Writes what waits, ends the thread. What is noted later is lost. Later calls do nothing.
  void Stop();

 private:
  void Run();
  // Until the store takes them, each for itself where it refuses them together.
  void Write(const std::vector<store::AuditRecord>& records);
  // Before another try; false: it stops, there is none.
  bool Pause();
  void Lose(size_t count);

  store::Audit& store_;
  const std::function<void(int64_t)> on_lost_;
  const size_t most_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<store::AuditRecord> queue_;
  bool writing_ = false;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace det::api

#endif  // MASTER_API_AUDIT_AUDIT_TRAIL_H_
