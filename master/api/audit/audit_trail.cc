#include "master/api/audit/audit_trail.h"

#include <chrono>
#include <utility>

#include "base/log.h"
#include "master/store/interfaces/in_doubt.h"

namespace det::api {
namespace {

constexpr std::chrono::milliseconds kPause{500};  // where the store is away

}  // namespace

AuditTrail::AuditTrail(store::Audit* store, std::function<void(int64_t)> on_lost, size_t most)
    : store_(*store), on_lost_(std::move(on_lost)), most_(most), thread_([this] { Run(); }) {}

AuditTrail::~AuditTrail() { Stop(); }

void AuditTrail::Note(store::AuditRecord record) {
  {
    std::lock_guard lock(mutex_);
    if (!stopped_ && queue_.size() < most_) {
      queue_.push_back(std::move(record));
      wake_.notify_one();
      return;
    }
  }
  Lose(1);
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

// While one batch is written the next one gathers.
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
  while (absl::IsUnavailable(written) && !store::IsInDoubt(written) && Pause()) {
    written = store_.AddAudit(records);
  }
  if (written.ok()) return;
  if (!absl::IsUnavailable(written) && records.size() > 1) {
    for (const store::AuditRecord& each : records) Write({each});
    return;
  }
  DET_LOG(WARNING) << "audit records are in the log alone" << base::Field("records", records.size())
                   << base::Field("error", written.message());
  Lose(records.size());
}

bool AuditTrail::Pause() {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, kPause, [this] { return stopped_; });
}

void AuditTrail::Lose(size_t count) {
  if (on_lost_) on_lost_(static_cast<int64_t>(count));
}

}  // namespace det::api
