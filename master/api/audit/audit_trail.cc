#include "master/api/audit/audit_trail.h"

#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "base/log.h"
#include "master/store/interfaces/unknown_commit.h"

namespace det::api {
namespace {

constexpr std::chrono::milliseconds kRetryInterval{500};  // while the store is unavailable

}  // namespace

AuditTrail::AuditTrail(store::Audit* store, std::function<void(int64_t)> on_lost, size_t max_queued)
    : store_(*store),
      on_lost_(std::move(on_lost)),
      max_queued_(max_queued),
      thread_([this] { Run(); }) {}

AuditTrail::~AuditTrail() { Stop(); }

void AuditTrail::Append(store::AuditRecord record) {
  {
    std::lock_guard lock(mutex_);
    if (!stopped_ && queue_.size() < max_queued_) {
      queue_.push_back(std::move(record));
      wake_.notify_one();
      return;
    }
  }
  ReportLost(1);
}

void AuditTrail::Flush() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return queue_.empty() && !writing_; });
}

void AuditTrail::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

// Records that arrive while a batch is written form the next batch.
void AuditTrail::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const std::vector<store::AuditRecord> batch = std::exchange(queue_, {});
    writing_ = true;
    lock.unlock();
    Write(batch);
    lock.lock();
    writing_ = false;
    if (queue_.empty()) done_.notify_all();
  }
}

void AuditTrail::Write(const std::vector<store::AuditRecord>& records) {
  absl::Status written = store_.AddAudit(records);
  while (absl::IsUnavailable(written) && !store::IsUnknownCommit(written) && WaitForRetry()) {
    written = store_.AddAudit(records);
  }
  if (written.ok()) return;
  if (!absl::IsUnavailable(written) && records.size() > 1) {
    for (const store::AuditRecord& each : records) Write({each});
    return;
  }
  DET_LOG(WARNING) << "failed to store audit records; they are only in this log"
                   << base::Field("records", records.size())
                   << base::Field("error", written.message());
  ReportLost(records.size());
}

bool AuditTrail::WaitForRetry() {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, kRetryInterval, [this] { return stopped_; });
}

void AuditTrail::ReportLost(size_t count) {
  if (on_lost_) on_lost_(static_cast<int64_t>(count));
}

}  // namespace det::api
