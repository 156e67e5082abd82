// Experiments and trials that run outside of the cluster (docs/detached-mode.md): unmanaged ones.
// The cluster never loads them; each method changes their rows in one transaction, and raises the
// webhooks of a changed state. Every method can be repeated. The decisions are in
// core/experiment/detached.h.
//
// Unless stated otherwise: NOT_FOUND if the experiment or trial does not exist; FAILED_PRECONDITION
// if it is managed or is being deleted. Any thread; blocks.
#ifndef MASTER_STORE_INTERFACES_DETACHED_H_
#define MASTER_STORE_INTERFACES_DETACHED_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/core/experiment/experiment.h"
#include "master/core/experiment/trial.h"
#include "master/core/model/ids.h"
#include "master/core/model/reports.h"
#include "master/core/model/states.h"
#include "master/core/model/value.h"

namespace det::store {

// The start of an attempt.
struct StartedTrial {
  model::ExperimentId experiment;
  int run_id = 0;
  // From which a resumed trial continues.
  std::optional<model::CheckpointId> latest_checkpoint;
  int64_t steps_completed = 0;
};

// A report that was stored.
struct StoredReport {
  model::ExperimentId experiment;
  bool unmanaged = false;
  int run_id = 0;     // the current attempt
  bool best = false;  // one of the validations is the best of the experiment
};

// How a trial uses a checkpoint, of another trial or of a model version.
struct TrialSource {
  model::TrialId trial;
  model::CheckpointId checkpoint;
  std::string type;  // "INFERENCE", "FINE_TUNING"
  std::optional<int32_t> model;
  std::optional<int32_t> version;
  friend bool operator==(const TrialSource&, const TrialSource&) = default;
};

class Detached {
 public:
  virtual ~Detached() = default;

  // ---- experiments and trials ----

  // Stores a new experiment. ABORTED if its external ID is taken: another call was faster.
  virtual absl::Status AddExperiment(const experiment::Experiment& experiment) = 0;
  // Replaces the configuration of an experiment; keeps all else.
  virtual absl::Status ReplaceConfig(const experiment::Experiment& experiment) = 0;
  virtual absl::StatusOr<std::optional<model::ExperimentId>> FindExperiment(
      const std::string& external_id) = 0;

  // Stores a new trial, or if its experiment has a trial with its external ID, replaces the
  // hyperparameters of that trial. Returns the ID of the stored trial.
  virtual absl::StatusOr<model::TrialId> PutTrial(const experiment::Trial& trial) = 0;
  virtual absl::StatusOr<std::optional<model::TrialId>> FindTrial(
      model::ExperimentId experiment, const std::string& external_id) = 0;

  // Whether the trial belongs to an unmanaged experiment.
  virtual absl::StatusOr<bool> IsUnmanaged(model::TrialId id) = 0;

  // Starts the next attempt.
  virtual absl::StatusOr<StartedTrial> StartTrial(model::TrialId id, bool resume,
                                                  absl::Time now) = 0;
  // Records a sign of life and, if it is given, the state. Returns the experiment.
  virtual absl::StatusOr<model::ExperimentId> PatchTrial(model::TrialId id,
                                                         std::optional<model::TrialState> state,
                                                         absl::Time now) = 0;

  // ---- reports ----

  // Stores reports of one trial, also of a managed one. A report of a step that exists already
  // adds its new metrics to it; INVALID_ARGUMENT if it changes a value, and then nothing is stored.
  // `run_id` is the attempt that reports: INVALID_ARGUMENT if it is not the current one; 0: the
  // current one. The validations of an unmanaged trial are considered for the best metrics.
  //
  // `done` is called when the reports are durable or refused, on a thread that it must not block.
  // A single report that is not a validation shares a commit with those of other callers, and the
  // call returns at once; otherwise it blocks until then.
  using Stored = absl::AnyInvocable<void(absl::StatusOr<StoredReport>)>;
  virtual void AddMetrics(model::TrialId id, int run_id, std::vector<model::MetricReport> reports,
                          Stored done) = 0;
  // The same, but always blocks.
  absl::StatusOr<StoredReport> AddMetrics(model::TrialId id, int run_id,
                                          std::vector<model::MetricReport> reports);
  // Stores the progress, 0..1, as that of the trial and of its experiment.
  virtual absl::StatusOr<model::ExperimentId> SetProgress(model::TrialId id, double progress) = 0;
  virtual absl::StatusOr<model::ExperimentId> SetRunnerState(model::TrialId id,
                                                             const std::string& state) = 0;
  // Stores why the trial cannot continue.
  virtual absl::StatusOr<model::ExperimentId> SetReason(model::TrialId id,
                                                        const std::string& reason) = 0;
  // Stores a checkpoint. ALREADY_EXISTS if its UUID belongs to a checkpoint of another trial, or of
  // this trial at other steps.
  virtual absl::StatusOr<model::ExperimentId> AddCheckpoint(
      const model::CheckpointRecord& checkpoint) = 0;
  // Returns the ID of the checkpoint storage with this configuration; the same for equal ones.
  virtual absl::StatusOr<int32_t> PutCheckpointStorage(const model::Value& config) = 0;
  // NOT_FOUND if there is no storage with this ID.
  virtual absl::StatusOr<model::Value> GetCheckpointStorage(int32_t id) = 0;
  // Stores how a trial, also a managed one, uses a checkpoint, which need not exist.
  virtual absl::Status PutTrialSource(const TrialSource& source) = 0;
  // The trials that use the checkpoint in this way (empty: in any way), by ID.
  virtual absl::StatusOr<std::vector<model::TrialId>> ListTrialsBySource(
      const model::CheckpointId& checkpoint, const std::string& type) = 0;

  // ---- lost trials ----

  // Records signs of life of trials; skips trials that do not exist.
  virtual absl::Status RecordActivity(const std::map<model::TrialId, absl::Time>& activity) = 0;
  // Ends up to `limit` running trials whose last sign of life was before `before`. Returns their
  // experiments.
  virtual absl::StatusOr<std::vector<model::ExperimentId>> EndLostTrials(absl::Time before,
                                                                         absl::Time now,
                                                                         int limit) = 0;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_DETACHED_H_
