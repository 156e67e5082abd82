// GarbageCollection in PostgreSQL. Used by SqlStore. Any thread; blocks.
#ifndef MASTER_STORE_POSTGRES_SQL_GARBAGE_COLLECTION_H_
#define MASTER_STORE_POSTGRES_SQL_GARBAGE_COLLECTION_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/interfaces/garbage_collection.h"
#include "master/store/postgres/fence.h"
#include "master/store/postgres/pool.h"

namespace det::store {

class SqlGarbageCollection final : public GarbageCollection {
 public:
  SqlGarbageCollection(Pool* pool, Fence* fence) : pool_(*pool), fence_(*fence) {}

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
  absl::StatusOr<bool> RemovePortion(const char* sql, const Params& params, int limit);

  Pool& pool_;
  Fence& fence_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SQL_GARBAGE_COLLECTION_H_
