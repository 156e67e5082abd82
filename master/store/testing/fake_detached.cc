#include "master/store/testing/fake_detached.h"

#include <algorithm>
#include <mutex>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/core/experiment/detached.h"
#include "master/core/experiment/merge_report.h"
#include "master/core/experiment/webhook_payload.h"
#include "master/store/interfaces/canonical.h"

namespace det::store {
namespace {

template <class Id>
absl::Status NoSuch(const char* what, const Id& id) {
  return absl::NotFoundError(absl::StrCat(what, " ", ToString(id), " does not exist"));
}

absl::Status CheckNotDeleting(const experiment::Experiment& e) {
  if (!model::IsDeletion(e.state)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("experiment ", e.id.value(), " is ", std::string(model::ToString(e.state))));
}

}  // namespace

absl::StatusOr<experiment::Experiment*> FakeDetached::FindRow(model::ExperimentId id) {
  const auto it = db_.experiments.find(id);
  if (it == db_.experiments.end()) return NoSuch("experiment", id);
  if (!it->second.unmanaged) {
    return absl::FailedPreconditionError("only unmanaged experiments are supported");
  }
  DET_RETURN_IF_ERROR(CheckNotDeleting(it->second));
  return &it->second;
}

absl::StatusOr<FakeDetached::Rows> FakeDetached::FindRows(model::TrialId id) {
  const auto it = db_.trials.find(id);
  if (it == db_.trials.end()) return NoSuch("trial", id);
  DET_ASSIGN_OR_RETURN(experiment::Experiment * e, FindRow(it->second.experiment));
  return Rows{*e, it->second};
}

void FakeDetached::FollowTrials(experiment::Experiment& experiment, absl::Time now) {
  std::vector<experiment::TrialsInState> trials;
  for (const auto& [id, trial] : db_.trials) {
    if (trial.experiment == experiment.id) trials.push_back({trial.state, trial.ended_at});
  }
  if (!experiment::FollowTrials(experiment, trials)) return;
  if (!experiment::IsNotifiable(experiment.state)) return;
  db_.Raise(experiment::MakeStateEvent(experiment, now));
}

absl::Status FakeDetached::AddExperiment(const experiment::Experiment& experiment) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  for (const auto& [id, e] : db_.experiments) {
    if (id != experiment.id && e.external_id && e.external_id == experiment.external_id) {
      return absl::AbortedError("the external ID is taken; try again");
    }
  }
  cluster::Change change = Canonical(cluster::PutExperiment{experiment});
  db_.Apply(std::get<cluster::PutExperiment>(change));
  db_.experiments.at(experiment.id).unmanaged = true;
  return absl::OkStatus();
}

absl::Status FakeDetached::ReplaceConfig(const experiment::Experiment& experiment) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  DET_ASSIGN_OR_RETURN(experiment::Experiment * e, FindRow(experiment.id));
  e->config = experiment.config;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<model::ExperimentId>> FakeDetached::FindExperiment(
    const std::string& external_id) {
  std::lock_guard lock(db_.mutex);
  for (const auto& [id, e] : db_.experiments) {
    if (e.external_id == external_id) return std::optional(id);
  }
  return std::optional<model::ExperimentId>();
}

absl::StatusOr<model::TrialId> FakeDetached::PutTrial(const experiment::Trial& trial) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  DET_RETURN_IF_ERROR(FindRow(trial.experiment).status());
  cluster::Change change = Canonical(cluster::PutTrial{trial});
  const experiment::Trial& stored = std::get<cluster::PutTrial>(change).trial;
  for (auto& [id, other] : db_.trials) {
    if (other.experiment != trial.experiment || !trial.external_id) continue;
    if (other.external_id != trial.external_id) continue;
    other.hparams = stored.hparams;
    return id;
  }
  db_.trials[trial.id] = stored;
  return trial.id;
}

absl::StatusOr<std::optional<model::TrialId>> FakeDetached::FindTrial(
    model::ExperimentId experiment, const std::string& external_id) {
  std::lock_guard lock(db_.mutex);
  for (const auto& [id, trial] : db_.trials) {
    if (trial.experiment == experiment && trial.external_id == external_id) {
      return std::optional(id);
    }
  }
  return std::optional<model::TrialId>();
}

absl::StatusOr<bool> FakeDetached::IsUnmanaged(model::TrialId id) {
  std::lock_guard lock(db_.mutex);
  const auto trial = db_.trials.find(id);
  if (trial == db_.trials.end()) return NoSuch("trial", id);
  const auto e = db_.experiments.find(trial->second.experiment);
  return e != db_.experiments.end() && e->second.unmanaged;
}

absl::StatusOr<StartedTrial> FakeDetached::StartTrial(model::TrialId id, bool resume,
                                                      absl::Time now) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  DET_ASSIGN_OR_RETURN(const Rows rows, FindRows(id));
  DET_RETURN_IF_ERROR(experiment::StartAttempt(rows.trial, resume));
  FollowTrials(rows.experiment, now);
  db_.last_activity[id] = now;
  StartedTrial started{.experiment = rows.experiment.id, .run_id = rows.trial.run_id};
  if (started.run_id == 1) return started;
  const model::CheckpointRecord* newest = nullptr;
  const auto order = [](const model::CheckpointRecord& c) {
    return std::pair(c.steps_completed, c.time);
  };
  for (const auto& [uuid, checkpoint] : db_.checkpoints) {
    if (checkpoint.trial != id || checkpoint.state != model::CheckpointState::kCompleted) continue;
    if (newest == nullptr || order(checkpoint) > order(*newest)) newest = &checkpoint;
  }
  if (newest == nullptr) return started;
  started.latest_checkpoint = newest->id;
  started.steps_completed = newest->steps_completed;
  return started;
}

absl::StatusOr<model::ExperimentId> FakeDetached::PatchTrial(model::TrialId id,
                                                             std::optional<model::TrialState> state,
                                                             absl::Time now) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  DET_ASSIGN_OR_RETURN(const Rows rows, FindRows(id));
  if (state) {
    DET_RETURN_IF_ERROR(experiment::ReportState(rows.trial, *state, now));
  } else {
    experiment::ReviveLost(rows.trial);
  }
  FollowTrials(rows.experiment, now);
  db_.last_activity[id] = now;
  return rows.experiment.id;
}

void FakeDetached::AddMetrics(model::TrialId id, int run_id,
                              std::vector<model::MetricReport> reports, Stored done) {
  done(Add(id, run_id, std::move(reports)));
}

absl::StatusOr<StoredReport> FakeDetached::Add(model::TrialId id, int run_id,
                                               std::vector<model::MetricReport> reports) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  const auto trial = db_.trials.find(id);
  if (trial == db_.trials.end()) return NoSuch("trial", id);
  experiment::Experiment& e = db_.experiments.at(trial->second.experiment);
  DET_RETURN_IF_ERROR(CheckNotDeleting(e));
  StoredReport stored{.experiment = e.id, .unmanaged = e.unmanaged, .run_id = trial->second.run_id};
  if (run_id != 0 && run_id != stored.run_id) {
    return absl::InvalidArgumentError(
        absl::StrCat("invalid run id, ", run_id, " (reported) != ", stored.run_id, " (expected)"));
  }
  std::map<MetricKey, model::MetricReport> changed;
  for (model::MetricReport& report : reports) {
    report = Canonical(std::move(report));
    report.trial = id;
    report.run_id = stored.run_id;
    if (e.unmanaged) DET_RETURN_IF_ERROR(experiment::CheckSearcherMetric(e, report));
    const MetricKey key = GetMetricKey(report);
    const auto existing = db_.metrics.find(key);
    if (existing != db_.metrics.end()) changed.insert(*existing);
    const auto [all, is_new] = changed.emplace(key, report);
    if (is_new) continue;
    DET_ASSIGN_OR_RETURN(report.metrics, experiment::MergeReport(all->second, report));
  }
  for (auto& [key, report] : changed) db_.metrics[key] = report;
  if (!e.unmanaged) return stored;
  for (const model::MetricReport& report : reports) {
    if (report.group != "validation") continue;
    const auto metric = GetMetricNumber(report.metrics, e.config->searcher.metric);
    if (!metric) continue;
    stored.best |= experiment::RecordMetric(e, trial->second, report.steps_completed, *metric);
  }
  return stored;
}

absl::StatusOr<model::ExperimentId> FakeDetached::SetProgress(model::TrialId id, double progress) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  DET_ASSIGN_OR_RETURN(const Rows rows, FindRows(id));
  rows.trial.progress = progress;
  rows.experiment.progress = progress;
  return rows.experiment.id;
}

absl::StatusOr<model::ExperimentId> FakeDetached::SetRunnerState(model::TrialId id,
                                                                 const std::string& state) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  DET_ASSIGN_OR_RETURN(const Rows rows, FindRows(id));
  rows.trial.runner_state = SanitizeText(state);
  return rows.experiment.id;
}

absl::StatusOr<model::ExperimentId> FakeDetached::SetReason(model::TrialId id,
                                                            const std::string& reason) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  DET_ASSIGN_OR_RETURN(const Rows rows, FindRows(id));
  rows.trial.reason = SanitizeText(reason);
  return rows.experiment.id;
}

absl::StatusOr<model::ExperimentId> FakeDetached::AddCheckpoint(
    const model::CheckpointRecord& checkpoint) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  DET_ASSIGN_OR_RETURN(const Rows rows, FindRows(checkpoint.trial));
  const auto existing = db_.checkpoints.find(checkpoint.id);
  if (existing != db_.checkpoints.end() && existing->second.trial != checkpoint.trial) {
    return absl::AlreadyExistsError(absl::StrCat("checkpoint ", checkpoint.id.value(),
                                                 " belongs to another trial; use a new UUID"));
  }
  if (existing != db_.checkpoints.end() &&
      existing->second.steps_completed != checkpoint.steps_completed) {
    return absl::AlreadyExistsError(
        absl::StrCat("checkpoint ", checkpoint.id.value(), " has other steps; use a new UUID"));
  }
  cluster::Change change = Canonical(cluster::AddCheckpoint{checkpoint});
  db_.Apply(std::get<cluster::AddCheckpoint>(change));
  if (!rows.trial.latest_checkpoint || checkpoint.steps_completed >= rows.trial.steps_completed) {
    rows.trial.latest_checkpoint = checkpoint.id;
    rows.trial.steps_completed = checkpoint.steps_completed;
  }
  return rows.experiment.id;
}

absl::StatusOr<int32_t> FakeDetached::PutCheckpointStorage(const model::Value& config) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  const model::Value stored = Canonical(config);
  const auto it = std::find(db_.checkpoint_storages.begin(), db_.checkpoint_storages.end(), stored);
  const auto index = it - db_.checkpoint_storages.begin();
  if (it == db_.checkpoint_storages.end()) db_.checkpoint_storages.push_back(stored);
  return static_cast<int32_t>(index) + 1;
}

absl::Status FakeDetached::PutTrialSource(const TrialSource& source) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  if (!db_.trials.contains(source.trial)) return NoSuch("trial", source.trial);
  db_.trial_sources[{source.trial, source.checkpoint, source.type}] = source;
  return absl::OkStatus();
}

absl::StatusOr<model::Value> FakeDetached::GetCheckpointStorage(int32_t id) {
  std::lock_guard lock(db_.mutex);
  if (id >= 1 && id <= static_cast<int32_t>(db_.checkpoint_storages.size())) {
    return db_.checkpoint_storages[id - 1];
  }
  return absl::NotFoundError(absl::StrCat("checkpoint storage ", id, " not found"));
}

absl::StatusOr<std::vector<model::TrialId>> FakeDetached::ListTrialsBySource(
    const model::CheckpointId& checkpoint, const std::string& type) {
  std::lock_guard lock(db_.mutex);
  std::vector<model::TrialId> trials;
  for (const auto& [key, source] : db_.trial_sources) {
    if (source.checkpoint != checkpoint || (!type.empty() && source.type != type)) continue;
    if (trials.empty() || trials.back() != source.trial) trials.push_back(source.trial);
  }
  return trials;
}

absl::Status FakeDetached::RecordActivity(const std::map<model::TrialId, absl::Time>& activity) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  for (const auto& [id, time] : activity) {
    const auto it = db_.last_activity.find(id);
    if (it != db_.last_activity.end()) it->second = std::max(it->second, time);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<model::ExperimentId>> FakeDetached::EndLostTrials(absl::Time before,
                                                                             absl::Time now,
                                                                             int limit) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  std::vector<model::ExperimentId> ended;
  for (const auto& [id, last] : db_.last_activity) {
    if (last >= before || static_cast<int>(ended.size()) == limit) continue;
    const absl::StatusOr<Rows> rows = FindRows(id);
    if (!rows.ok() || !experiment::EndLost(rows->trial, last)) continue;
    FollowTrials(rows->experiment, now);
    ended.push_back(rows->experiment.id);
  }
  return ended;
}

}  // namespace det::store
