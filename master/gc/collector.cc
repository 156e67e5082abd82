#include "master/gc/collector.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "master/core/experiment/retention.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/interfaces/retention_candidates.h"

namespace det::gc {
namespace {

constexpr int kBatchSize = 100;                 // experiments or checkpoints per query
constexpr int kMaxRowsPerTransaction = 10'000;  // removed in one transaction

void LogKeptCheckpoint(const model::CheckpointId& id, model::ExperimentId experiment,
                       const absl::Status& why) {
  DET_LOG(WARNING) << "failed to remove checkpoint files" << base::Field("checkpoint", id.value())
                   << base::Field("experiment", experiment.value())
                   << base::Field("reason", why.message());
}

}  // namespace

absl::Status Collector::Collect() {
  DET_RETURN_IF_ERROR(DeleteReleased());
  // Before their experiments: those that are deleted from here on belong to the next pass.
  DET_ASSIGN_OR_RETURN(const std::vector<int32_t> projects,
                       deps_.store->projects().ListDeletions());
  DET_ASSIGN_OR_RETURN(const std::vector<int32_t> workspaces,
                       deps_.store->workspaces().ListDeletions());
  if (!projects.empty() || !workspaces.empty()) DET_RETURN_IF_ERROR(DeleteOfProjects());
  DET_RETURN_IF_ERROR(ApplyRetentions());
  DET_RETURN_IF_ERROR(TrimFiles());
  // Before the files: experiments that are deleted from here on belong to the next pass.
  DET_ASSIGN_OR_RETURN(const std::vector<model::ExperimentId> deletions,
                       deps_.garbage_collection->ListDeletions());
  Failures failures;
  DET_RETURN_IF_ERROR(RemoveFiles(failures));
  for (const model::ExperimentId& id : deletions) {
    DET_RETURN_IF_ERROR(CheckStop());
    if (!failures.contains(id)) {
      const absl::Status removed = RemoveExperimentFiles(id);
      if (!removed.ok()) failures.emplace(id, std::string(removed.message()));
    }
    const auto failure = failures.find(id);
    if (failure == failures.end()) {
      DET_RETURN_IF_ERROR(RemoveExperimentRows(id));
    } else {
      DET_RETURN_IF_ERROR(deps_.garbage_collection->MarkDeletionFailed(id, failure->second));
    }
  }
  return DeleteProjects(projects, workspaces);
}

absl::Status Collector::RemoveExpired(absl::Time now) {
  bool all = false;
  while (!all) {
    DET_RETURN_IF_ERROR(CheckStop());
    DET_ASSIGN_OR_RETURN(const int removed,
                         deps_.garbage_collection->RemoveExpiredLogs(
                             now, deps_.retention_days.log_days, kMaxRowsPerTransaction));
    all = removed < kMaxRowsPerTransaction;
  }
  if (deps_.retention_days.audit_days < 0) return absl::OkStatus();
  for (all = false; !all;) {
    DET_RETURN_IF_ERROR(CheckStop());
    DET_ASSIGN_OR_RETURN(
        all, deps_.garbage_collection->RemoveExpiredAudit(
                 now - deps_.retention_days.audit_days * absl::Hours(24), kMaxRowsPerTransaction));
  }
  return absl::OkStatus();
}

absl::Status Collector::CheckStop() const {
  return deps_.stopping() ? absl::CancelledError("the master is stopping") : absl::OkStatus();
}

absl::Status Collector::DeleteReleased() {
  DET_ASSIGN_OR_RETURN(const std::vector<model::ExperimentId> released,
                       deps_.garbage_collection->ListReleased());
  for (const model::ExperimentId& id : released) {
    DET_RETURN_IF_ERROR(CheckStop());
    DET_RETURN_IF_ERROR(deps_.submit(cluster::DeleteExperiment{id}));
  }
  return absl::OkStatus();
}

absl::Status Collector::DeleteOfProjects() {
  DET_ASSIGN_OR_RETURN(const std::vector<model::ExperimentId> doomed,
                       deps_.garbage_collection->ListOfDeletedProjects());
  for (const model::ExperimentId& id : doomed) {
    DET_RETURN_IF_ERROR(CheckStop());
    const absl::Status deleted = deps_.submit(cluster::DeleteExperiment{id});
    // It runs again: the deletion of its project will fail.
    if (!absl::IsFailedPrecondition(deleted)) DET_RETURN_IF_ERROR(deleted);
  }
  return absl::OkStatus();
}

absl::Status Collector::DeleteProjects(const std::vector<int32_t>& projects,
                                       const std::vector<int32_t>& workspaces) {
  store::Projects& project_store = deps_.store->projects();
  store::Workspaces& workspace_store = deps_.store->workspaces();
  // An experiment remains if its files could not be removed.
  for (const int32_t id : projects) {
    absl::Status status = project_store.DeleteProject(id);
    if (absl::IsFailedPrecondition(status)) {
      status = project_store.MarkDeletionFailed(id, std::string(status.message()));
    }
    if (!absl::IsNotFound(status)) DET_RETURN_IF_ERROR(status);
  }
  for (const int32_t id : workspaces) {
    absl::Status status = workspace_store.DeleteWorkspace(id);
    if (absl::IsFailedPrecondition(status)) {
      status = workspace_store.MarkDeletionFailed(id, std::string(status.message()));
    }
    if (!absl::IsNotFound(status)) DET_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

absl::Status Collector::ApplyRetentions() {
  model::ExperimentId last;
  while (true) {
    DET_ASSIGN_OR_RETURN(const std::vector<model::ExperimentId> due,
                         deps_.garbage_collection->ListDueRetentions(last, kBatchSize));
    if (due.empty()) return absl::OkStatus();
    for (const model::ExperimentId& id : due) {
      DET_RETURN_IF_ERROR(CheckStop());
      DET_RETURN_IF_ERROR(ApplyRetention(id));
    }
    last = due.back();
  }
}

absl::Status Collector::ApplyRetention(model::ExperimentId id) {
  const absl::StatusOr<store::ExperimentRecord> record = deps_.store->GetExperiment(id);
  if (absl::IsNotFound(record.status())) return absl::OkStatus();
  DET_RETURN_IF_ERROR(record.status());
  const model::ExperimentConfig& config = *record->experiment.config;
  cluster::RetainCheckpoints event{
      id, experiment::GetRetentionPolicy(config.checkpoint_storage), {}};
  DET_ASSIGN_OR_RETURN(const std::vector<experiment::RetentionCandidate> all,
                       store::ListRetentionCandidates(*deps_.store, id));
  event.drop = experiment::SelectForRemoval(event.policy, config.searcher.smaller_is_better, all);
  const absl::Status applied = deps_.submit(std::move(event));
  // The experiment runs again; its retention will be due at its next end.
  return absl::IsAborted(applied) ? absl::OkStatus() : applied;
}

absl::Status Collector::Remove(const model::CheckpointStorageConfig& storage,
                               UnavailableStorages& unavailable,
                               const std::function<absl::Status()>& remove) const {
  for (const auto& [place, why] : unavailable) {
    if (place == storage) return why;
  }
  absl::Status removed = remove();
  if (absl::IsUnavailable(removed)) unavailable.emplace_back(storage, removed);
  return removed;
}

absl::Status Collector::TrimFiles() {
  model::CheckpointId last;
  UnavailableStorages unavailable;
  while (true) {
    DET_ASSIGN_OR_RETURN(const std::vector<store::CheckpointToTrim> to_trim,
                         deps_.garbage_collection->ListCheckpointsToTrim(last, kBatchSize));
    if (to_trim.empty()) return absl::OkStatus();
    for (const store::CheckpointToTrim& each : to_trim) {
      DET_RETURN_IF_ERROR(CheckStop());
      const model::Resources left = model::GetRemaining(each.resources, each.globs);
      const absl::Status removed = Remove(each.storage, unavailable, [&]() -> absl::Status {
        if (each.outside) return absl::OkStatus();
        if (!model::HasFiles(left)) return deps_.remove_files(each.storage, each.id);
        model::Resources deleted;
        std::set_difference(each.resources.begin(), each.resources.end(), left.begin(), left.end(),
                            std::inserter(deleted, deleted.end()));
        return deps_.remove_some_files(each.storage, each.id, deleted);
      });
      if (removed.ok()) {
        DET_RETURN_IF_ERROR(deps_.garbage_collection->MarkCheckpointTrimmed(each, left));
      } else {
        LogKeptCheckpoint(each.id, each.experiment, removed);
      }
    }
    last = to_trim.back().id;
  }
}

absl::Status Collector::RemoveFiles(Failures& failures) {
  model::CheckpointId last;
  UnavailableStorages unavailable;
  while (true) {
    DET_ASSIGN_OR_RETURN(const std::vector<store::CheckpointToDelete> to_delete,
                         deps_.garbage_collection->ListCheckpointsToDelete(last, kBatchSize));
    if (to_delete.empty()) return absl::OkStatus();
    std::vector<model::CheckpointId> deleted;
    for (const store::CheckpointToDelete& each : to_delete) {
      DET_RETURN_IF_ERROR(CheckStop());
      const absl::Status removed = Remove(each.storage, unavailable, [&] {
        return each.outside ? absl::OkStatus() : deps_.remove_files(each.storage, each.id);
      });
      if (removed.ok()) {
        deleted.push_back(each.id);
        continue;
      }
      failures.emplace(each.experiment, std::string(removed.message()));
      LogKeptCheckpoint(each.id, each.experiment, removed);
    }
    DET_RETURN_IF_ERROR(deps_.garbage_collection->MarkCheckpointsDeleted(deleted));
    last = to_delete.back().id;
  }
}

absl::Status Collector::RemoveExperimentFiles(model::ExperimentId id) {
  const absl::StatusOr<store::ExperimentRecord> record = deps_.store->GetExperiment(id);
  if (absl::IsNotFound(record.status())) return absl::OkStatus();
  DET_RETURN_IF_ERROR(record.status());
  const auto& storage = record->experiment.config->checkpoint_storage;
  // A folder of this machine with the same name belongs to somebody else.
  if (store::IsOutside(record->experiment, storage)) return absl::OkStatus();
  DET_ASSIGN_OR_RETURN(const std::vector<model::TrialId> trials, deps_.store->ListTrialIds(id));
  return deps_.remove_experiment_files(storage, id, trials);
}

absl::Status Collector::RemoveExperimentRows(model::ExperimentId id) {
  bool all = false;
  while (!all) {
    DET_RETURN_IF_ERROR(CheckStop());
    DET_ASSIGN_OR_RETURN(all, deps_.garbage_collection->RemoveRows(id, kMaxRowsPerTransaction));
  }
  DET_LOG(INFO) << "experiment deleted" << base::Field("experiment", id.value());
  return absl::OkStatus();
}

}  // namespace det::gc
