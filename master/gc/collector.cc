#include "master/gc/collector.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status_macros.h"
#include "master/core/experiment/retention.h"
#include "master/store/interfaces/retainable.h"

namespace det::gc {
namespace {

constexpr int kAtOnce = 100;         // experiments or checkpoints read in one go
constexpr int kRowsAtOnce = 10'000;  // removed in one transaction

void SayItStays(const model::CheckpointId& id, model::ExperimentId experiment,
                const absl::Status& why) {
  DET_LOG(WARNING) << "a checkpoint stays on disk" << base::Field("checkpoint", id.value())
                   << base::Field("experiment", experiment.value())
                   << base::Field("reason", why.message());
}

}  // namespace

absl::Status Sweeper::Pass() {
  DET_RETURN_IF_ERROR(DeleteReleases());
  DET_RETURN_IF_ERROR(ApplyRetentions());
  DET_RETURN_IF_ERROR(TrimFiles());
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

absl::Status Sweeper::Remove(const model::CheckpointStorageConfig& storage, Away& away,
                             const std::function<absl::Status()>& remove) const {
  for (const auto& [place, why] : away) {
    if (place == storage) return why;
  }
  absl::Status removed = remove();
  if (absl::IsUnavailable(removed)) away.emplace_back(storage, removed);
  return removed;
}

absl::Status Sweeper::TrimFiles() {
  model::CheckpointId last;
  Away away;
  while (true) {
    DET_ASSIGN_OR_RETURN(const std::vector<store::TrimmedCheckpoint> trimmed,
                         deps_.disposal->TrimmedCheckpoints(last, kAtOnce));
    if (trimmed.empty()) return absl::OkStatus();
    for (const store::TrimmedCheckpoint& each : trimmed) {
      DET_RETURN_IF_ERROR(CheckStop());
      const model::Resources left = model::LeftOf(each.resources, each.globs);
      const absl::Status removed = Remove(each.storage, away, [&] {
        if (!model::HasFiles(left)) return deps_.remove_files(each.storage, each.id);
        model::Resources gone;
        std::set_difference(each.resources.begin(), each.resources.end(), left.begin(), left.end(),
                            std::inserter(gone, gone.end()));
        return deps_.remove_some_files(each.storage, each.id, gone);
      });
      if (removed.ok()) {
        DET_RETURN_IF_ERROR(deps_.disposal->SetTrimmed(each, left));
      } else {
        SayItStays(each.id, each.experiment, removed);
      }
    }
    last = trimmed.back().id;
  }
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
      const absl::Status removed =
          Remove(each.storage, away, [&] { return deps_.remove_files(each.storage, each.id); });
      if (removed.ok()) {
        gone.push_back(each.id);
        continue;
      }
      failures.emplace(each.experiment, std::string(removed.message()));
      SayItStays(each.id, each.experiment, removed);
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

}  // namespace det::gc
