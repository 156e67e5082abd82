#include "master/sweep/sweeper.h"

#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status_macros.h"
#include "master/experiment/retention.h"
#include "master/store/retainable.h"

namespace det::sweep {
namespace {

constexpr int kAtOnce = 100;         // experiments or checkpoints read in one go
constexpr int kRowsAtOnce = 10'000;  // removed in one transaction

}  // namespace

absl::Status Sweeper::Pass() {
  DET_RETURN_IF_ERROR(DeleteReleases());
  DET_RETURN_IF_ERROR(ApplyRetentions());
  // Before the files: what is given up from here on is the next pass's.
  DET_ASSIGN_OR_RETURN(const std::vector<model::ExperimentId> deletions,
                       deps_.disposal->Deletions());
  Failures failures;
  DET_RETURN_IF_ERROR(RemoveFiles(failures));
  for (const model::ExperimentId& id : deletions) {
    const auto failure = failures.find(id);
    if (failure == failures.end()) {
      DET_RETURN_IF_ERROR(RemoveRows(id));
    } else {
      DET_RETURN_IF_ERROR(deps_.disposal->FailDeletion(id, failure->second));
    }
  }
  return absl::OkStatus();
}

absl::Status Sweeper::RemoveOld(absl::Time now) {
  bool all = false;
  while (!all) {
    DET_RETURN_IF_ERROR(CheckStop());
    DET_ASSIGN_OR_RETURN(all, deps_.disposal->RemoveOldLogs(now, deps_.ages.log_days, kRowsAtOnce));
  }
  if (deps_.ages.audit_days < 0) return absl::OkStatus();
  for (all = false; !all;) {
    DET_RETURN_IF_ERROR(CheckStop());
    DET_ASSIGN_OR_RETURN(all, deps_.disposal->RemoveOldAudit(
                                  now - deps_.ages.audit_days * absl::Hours(24), kRowsAtOnce));
  }
  return absl::OkStatus();
}

absl::Status Sweeper::CheckStop() const {
  return deps_.stopping() ? absl::CancelledError("the master is stopping") : absl::OkStatus();
}

absl::Status Sweeper::DeleteReleases() {
  DET_ASSIGN_OR_RETURN(const std::vector<model::ExperimentId> releases, deps_.disposal->Releases());
  for (const model::ExperimentId& id : releases) {
    DET_RETURN_IF_ERROR(CheckStop());
    DET_RETURN_IF_ERROR(deps_.submit(cluster::DeleteExperiment{id}));
  }
  return absl::OkStatus();
}

absl::Status Sweeper::ApplyRetentions() {
  model::ExperimentId last;
  while (true) {
    DET_ASSIGN_OR_RETURN(const std::vector<model::ExperimentId> due,
                         deps_.disposal->DueRetentions(last, kAtOnce));
    if (due.empty()) return absl::OkStatus();
    for (const model::ExperimentId& id : due) {
      DET_RETURN_IF_ERROR(CheckStop());
      DET_RETURN_IF_ERROR(ApplyRetention(id));
    }
    last = due.back();
  }
}

absl::Status Sweeper::ApplyRetention(model::ExperimentId id) {
  const absl::StatusOr<store::ExperimentRecord> record = deps_.store->GetExperiment(id);
  if (absl::IsNotFound(record.status())) return absl::OkStatus();
  DET_RETURN_IF_ERROR(record.status());
  const model::ExperimentConfig& config = *record->experiment.config;
  cluster::RetainCheckpoints event{id, experiment::PolicyOf(config.checkpoint_storage), {}};
  DET_ASSIGN_OR_RETURN(const std::vector<experiment::Retainable> all,
                       store::ListRetainable(*deps_.store, id));
  event.drop = experiment::NotRetained(event.policy, config.searcher.smaller_is_better, all);
  const absl::Status applied = deps_.submit(std::move(event));
  // It runs again, and will end again.
  return absl::IsAborted(applied) ? absl::OkStatus() : applied;
}

absl::Status Sweeper::RemoveFilesOf(const store::DoomedCheckpoint& doomed, Away& away) const {
  for (const auto& [storage, why] : away) {
    if (storage == doomed.storage) return why;
  }
  absl::Status removed = deps_.remove_files(doomed.storage, doomed.id);
  if (absl::IsUnavailable(removed)) away.emplace_back(doomed.storage, removed);
  return removed;
}

absl::Status Sweeper::RemoveFiles(Failures& failures) {
  model::CheckpointId last;
  Away away;
  while (true) {
    DET_ASSIGN_OR_RETURN(const std::vector<store::DoomedCheckpoint> doomed,
                         deps_.disposal->DoomedCheckpoints(last, kAtOnce));
    if (doomed.empty()) return absl::OkStatus();
    std::vector<model::CheckpointId> gone;
    for (const store::DoomedCheckpoint& each : doomed) {
      DET_RETURN_IF_ERROR(CheckStop());
      const absl::Status removed = RemoveFilesOf(each, away);
      if (removed.ok()) {
        gone.push_back(each.id);
        continue;
      }
      failures.emplace(each.experiment, std::string(removed.message()));
      DET_LOG(WARNING) << "a checkpoint stays on disk" << base::Field("checkpoint", each.id.value())
                       << base::Field("experiment", each.experiment.value())
                       << base::Field("reason", removed.message());
    }
    DET_RETURN_IF_ERROR(deps_.disposal->SetDeleted(gone));
    last = doomed.back().id;
  }
}

absl::Status Sweeper::RemoveRows(model::ExperimentId id) {
  bool all = false;
  while (!all) {
    DET_RETURN_IF_ERROR(CheckStop());
    DET_ASSIGN_OR_RETURN(all, deps_.disposal->RemoveSome(id, kRowsAtOnce));
  }
  DET_LOG(INFO) << "experiment deleted" << base::Field("experiment", id.value());
  return absl::OkStatus();
}

}  // namespace det::sweep
