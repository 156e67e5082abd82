// Detached in memory. Used by FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_DETACHED_H_
#define MASTER_STORE_TESTING_FAKE_DETACHED_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/interfaces/detached.h"
#include "master/store/testing/fake_database.h"

namespace det::store {

class FakeDetached final : public Detached {
 public:
  // `check_epoch` is called before each write, without the database's mutex.
  FakeDetached(FakeDatabase* database, std::function<absl::Status()> check_epoch)
      : db_(*database), check_epoch_(std::move(check_epoch)) {}

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
  absl::StatusOr<StoredReport> Add(model::TrialId id, int run_id,
                                   std::vector<model::MetricReport> reports);
  // An unmanaged trial and its experiment.
  struct Rows {
    experiment::Experiment& experiment;
    experiment::Trial& trial;
  };
  absl::StatusOr<experiment::Experiment*> FindRow(model::ExperimentId id);
  absl::StatusOr<Rows> FindRows(model::TrialId id);
  // The state of the trial has changed: that of its experiment follows.
  void FollowTrials(experiment::Experiment& experiment, absl::Time now);

  FakeDatabase& db_;
  const std::function<absl::Status()> check_epoch_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_DETACHED_H_
