// What is to be removed, in PostgreSQL. Used by SqlStore. Any thread; blocks.
#ifndef MASTER_STORE_POSTGRES_SQL_DISPOSAL_H_
#define MASTER_STORE_POSTGRES_SQL_DISPOSAL_H_

#include <string>
#include <vector>

#include "master/store/interfaces/disposal.h"
#include "master/store/postgres/fence.h"
#include "master/store/postgres/pool.h"

namespace det::store {

class SqlDisposal final : public Disposal {
 public:
  SqlDisposal(Pool* pool, Fence* fence) : pool_(*pool), fence_(*fence) {}

  absl::StatusOr<std::vector<model::ExperimentId>> DueRetentions(model::ExperimentId after,
                                                                 int limit) override;
  absl::StatusOr<std::vector<DoomedCheckpoint>> DoomedCheckpoints(const model::CheckpointId& after,
                                                                  int limit) override;
  absl::Status SetDeleted(const std::vector<model::CheckpointId>& ids) override;
  absl::StatusOr<std::vector<TrimmedCheckpoint>> TrimmedCheckpoints(
      const model::CheckpointId& after, int limit) override;
  absl::Status SetTrimmed(const TrimmedCheckpoint& trimmed, const model::Resources& left) override;
  absl::StatusOr<std::vector<model::ExperimentId>> Deletions() override;
  absl::StatusOr<std::vector<model::ExperimentId>> Releases() override;
  absl::StatusOr<bool> RemoveSome(model::ExperimentId id, int limit) override;
  absl::Status FailDeletion(model::ExperimentId id, const std::string& reason) override;
  absl::Status KeepLogsOfExperiment(model::ExperimentId id, int days) override;
  absl::Status KeepLogsOfTrial(model::TrialId id, int days) override;
  absl::StatusOr<std::optional<int>> LogDaysOfTrial(model::TrialId id) override;
  absl::StatusOr<bool> RemoveOldLogs(absl::Time now, int days, int limit) override;
  absl::StatusOr<bool> RemoveOldAudit(absl::Time until, int limit) override;
  absl::StatusOr<std::vector<HeldCheckpoint>> ListHeld(model::ExperimentId id) override;

 private:
  absl::StatusOr<bool> RemovePortion(const char* sql, const Params& params, int limit);

  Pool& pool_;
  Fence& fence_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SQL_DISPOSAL_H_
