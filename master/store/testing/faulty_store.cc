#include "master/store/testing/faulty_store.h"

#include "absl/status/status.h"

namespace det::store {

void FaultyStore::Script(const std::vector<Fault>& faults) {
  std::lock_guard lock(mutex_);
  script_.insert(script_.end(), faults.begin(), faults.end());
}

void FaultyStore::Decide(std::function<Fault()> decide) {
  std::lock_guard lock(mutex_);
  decide_ = std::move(decide);
}

void FaultyStore::OnCommitted(Committed made) {
  std::lock_guard lock(mutex_);
  committed_ = std::move(made);
}

void FaultyStore::DuringCommit(std::function<void()> fn) {
  std::lock_guard lock(mutex_);
  during_ = std::move(fn);
}

std::vector<FaultyStore::Call> FaultyStore::commits() const {
  std::lock_guard lock(mutex_);
  return commits_;
}

absl::Status FaultyStore::Commit(int64_t sequence, const std::vector<cluster::Change>& changes) {
  Fault fault = Fault::kNone;
  std::function<void()> during;
  {
    std::lock_guard lock(mutex_);
    if (!decide_) commits_.push_back({sequence, changes});
    if (!script_.empty()) {
      fault = script_.front();
      script_.pop_front();
    } else if (decide_) {
      fault = decide_();
    }
    during = std::exchange(during_, nullptr);
  }
  if (during) during();
  if (fault == Fault::kRejected) return absl::InternalError("rejected by script");
  if (fault == Fault::kUnreached) return absl::UnavailableError("unreachable by script");
  const absl::Status committed = store_.Commit(sequence, changes);
  if (committed.ok() && committed_) committed_(sequence, changes);
  if (fault == Fault::kLostAck) return absl::UnavailableError("response lost by script");
  return committed;
}

}  // namespace det::store
