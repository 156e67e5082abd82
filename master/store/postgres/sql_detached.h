// Detached in PostgreSQL. Used by SqlStore. Any thread; blocks.
#ifndef MASTER_STORE_POSTGRES_SQL_DETACHED_H_
#define MASTER_STORE_POSTGRES_SQL_DETACHED_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/interfaces/detached.h"
#include "master/store/postgres/fence.h"
#include "master/store/postgres/pool.h"
#include "master/store/postgres/write_group.h"

namespace det::store {

class SqlDetached final : public Detached {
 public:
  SqlDetached(Pool* pool, Fence* fence);

  absl::Status AddExperiment(const experiment::Experiment& experiment) override;
  absl::Status ReplaceConfig(const experiment::Experiment& experiment) override;
  absl::StatusOr<std::optional<model::ExperimentId>> FindExperiment(
      const std::string& external_id) override;
  absl::StatusOr<model::TrialId> PutTrial(const experiment::Trial& trial) override;
  absl::StatusOr<std::optional<model::TrialId>> FindTrial(model::ExperimentId experiment,
                                                          const std::string& external_id) override;
  absl::StatusOr<bool> IsUnmanaged(model::TrialId id) override;
  absl::StatusOr<StartedTrial> StartTrial(model::TrialId id, bool resume, absl::Time now) override;
  absl::StatusOr<model::ExperimentId> PatchTrial(model::TrialId id,
                                                 std::optional<model::TrialState> state,
                                                 absl::Time now) override;
  using Detached::AddMetrics;
  void AddMetrics(model::TrialId id, int run_id, std::vector<model::MetricReport> reports,
                  Stored done) override;
  absl::StatusOr<model::ExperimentId> SetProgress(model::TrialId id, double progress) override;
  absl::StatusOr<model::ExperimentId> SetRunnerState(model::TrialId id,
                                                     const std::string& state) override;
  absl::StatusOr<model::ExperimentId> SetReason(model::TrialId id,
                                                const std::string& reason) override;
  absl::StatusOr<model::ExperimentId> AddCheckpoint(
      const model::CheckpointRecord& checkpoint) override;
  absl::StatusOr<int32_t> PutCheckpointStorage(const model::Value& config) override;
  absl::StatusOr<model::Value> GetCheckpointStorage(int32_t id) override;
  absl::Status PutTrialSource(const TrialSource& source) override;
  absl::StatusOr<std::vector<model::TrialId>> ListTrialsBySource(
      const model::CheckpointId& checkpoint, const std::string& type) override;
  absl::Status RecordActivity(const std::map<model::TrialId, absl::Time>& activity) override;
  absl::StatusOr<std::vector<model::ExperimentId>> EndLostTrials(absl::Time before, absl::Time now,
                                                                 int limit) override;

 private:
  // A report that is not a validation. Those that arrive during a write are stored together by the
  // next one, each with its own result.
  struct PendingReport {
    model::MetricReport report;  // run_id: as reported, 0: the current attempt
    std::shared_ptr<absl::StatusOr<StoredReport>> result;
  };
  absl::StatusOr<StoredReport> AddTogether(model::TrialId id, int run_id,
                                           std::vector<model::MetricReport> reports);
  absl::Status StorePending(const WriteGroup<PendingReport>::Rows& pending);

  Pool& pool_;
  Fence& fence_;
  WriteGroup<PendingReport> pending_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SQL_DETACHED_H_
