// What is to be removed, in memory. Used by FakeStore. Any thread.
// Never survives the process, never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_DISPOSAL_H_
#define MASTER_STORE_TESTING_FAKE_DISPOSAL_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "master/store/interfaces/disposal.h"
#include "master/store/testing/fake_database.h"

namespace det::store {

class FakeDisposal final : public Disposal {
 public:
  // `held` is asked before each write, without the database's mutex.
  FakeDisposal(FakeDatabase* database, std::function<absl::Status()> held)
      : db_(*database), held_(std::move(held)) {}

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
  void RemoveRest(model::ExperimentId id);

  FakeDatabase& db_;
  const std::function<absl::Status()> held_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_DISPOSAL_H_
