// The lease in FakeStore, and the rejection of writes of a fenced master.
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/store/testing/fake_database.h"
#include "master/store/testing/fake_store.h"

namespace det::store {

bool FakeStore::is_fenced() const { return epoch_ != 0 && database_->lease.epoch != epoch_; }

absl::Status FakeStore::ReportFenced() {
  const absl::Status over =
      absl::AbortedError("another master has taken over this database; stop this one");
  absl::AnyInvocable<void(absl::Status)> fenced;
  {
    std::lock_guard lock(database_->mutex);
    fenced = std::exchange(fenced_, nullptr);
  }
  if (fenced) fenced(over);
  return over;
}

absl::Status FakeStore::CheckEpoch() {
  {
    std::lock_guard lock(database_->mutex);
    if (!is_fenced()) return absl::OkStatus();
  }
  ReportFenced().IgnoreError();
  return absl::UnavailableError(
      "another master has taken over this database; send requests to that one");
}

absl::StatusOr<LeaseRecord> FakeStore::ReadLease() {
  std::lock_guard lock(database_->mutex);
  return database_->lease;
}

absl::StatusOr<bool> FakeStore::ClaimLease(std::optional<int64_t> expected) {
  std::lock_guard lock(database_->mutex);
  LeaseRecord& lease = database_->lease;
  if (expected && *expected != lease.epoch) return false;
  lease = {.epoch = lease.epoch + 1, .renewals = lease.renewals.value_or(0) + 1, .leader = ""};
  return true;
}

absl::Status FakeStore::RenewLease(const std::string& leader) {
  if (epoch_ == 0) return absl::FailedPreconditionError("RenewLease before Load; load first");
  {
    std::lock_guard lock(database_->mutex);
    LeaseRecord& lease = database_->lease;
    if (!is_fenced()) {
      lease.renewals = lease.renewals.value_or(0) + 1;
      lease.leader = leader;
      return absl::OkStatus();
    }
  }
  return ReportFenced();
}

void FakeStore::OnFenced(absl::AnyInvocable<void(absl::Status)> fenced) {
  std::lock_guard lock(database_->mutex);
  fenced_ = std::move(fenced);
}

}  // namespace det::store
