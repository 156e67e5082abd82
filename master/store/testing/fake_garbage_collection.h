// GarbageCollection in memory. Used by FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_GARBAGE_COLLECTION_H_
#define MASTER_STORE_TESTING_FAKE_GARBAGE_COLLECTION_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/interfaces/garbage_collection.h"
#include "master/store/testing/fake_database.h"

namespace det::store {

class FakeGarbageCollection final : public GarbageCollection {
 public:
  // `check_epoch` is called before each write, without the database's mutex.
  FakeGarbageCollection(FakeDatabase* database, std::function<absl::Status()> check_epoch)
      : db_(*database), check_epoch_(std::move(check_epoch)) {}

  absl::StatusOr<std::vector<model::ExperimentId>> ListDueRetentions(model::ExperimentId after,
                                                                     int limit) override;
  absl::StatusOr<std::vector<CheckpointToDelete>> ListCheckpointsToDelete(
      const model::CheckpointId& after, int limit) override;
  absl::Status MarkCheckpointsDeleted(const std::vector<model::CheckpointId>& ids) override;
  absl::StatusOr<std::vector<CheckpointToTrim>> ListCheckpointsToTrim(
      const model::CheckpointId& after, int limit) override;
  absl::Status MarkCheckpointTrimmed(const CheckpointToTrim& trimmed,
                                     const model::Resources& left) override;
  absl::StatusOr<std::vector<model::ExperimentId>> ListDeletions() override;
  absl::StatusOr<std::vector<model::ExperimentId>> ListOfDeletedProjects() override;
  absl::StatusOr<std::vector<model::ExperimentId>> ListReleased() override;
  absl::StatusOr<bool> RemoveRows(model::ExperimentId id, int limit) override;
  absl::Status MarkDeletionFailed(model::ExperimentId id, const std::string& reason) override;
  absl::Status SetExperimentLogDays(model::ExperimentId id, int days) override;
  absl::Status SetTrialLogDays(model::TrialId id, int days) override;
  absl::StatusOr<std::optional<int>> GetTrialLogDays(model::TrialId id) override;
  absl::StatusOr<int> RemoveExpiredLogs(absl::Time now, int days, int limit) override;
  absl::StatusOr<bool> RemoveExpiredAudit(absl::Time until, int limit) override;
  absl::StatusOr<std::vector<HeldCheckpoint>> ListHeldCheckpoints(model::ExperimentId id) override;

 private:
  void RemoveRest(model::ExperimentId id);

  FakeDatabase& db_;
  const std::function<absl::Status()> check_epoch_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_GARBAGE_COLLECTION_H_
