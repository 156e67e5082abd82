#include "master/service/audit_trail.h"

#include <utility>

#include "base/log.h"

namespace det::service {

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
    const absl::Status written = store_.AddAudit(batch);
    if (!written.ok()) {
      DET_LOG(WARNING) << "audit records are in the log alone"
                       << base::Field("records", batch.size())
                       << base::Field("error", written.message());
      Lose(batch.size());
    }
    lock.lock();
    writing_ = false;
    if (queue_.empty()) done_.notify_all();
  }
}

void AuditTrail::Lose(size_t count) {
  if (on_lost_) on_lost_(static_cast<int64_t>(count));
}

}  // namespace det::service
