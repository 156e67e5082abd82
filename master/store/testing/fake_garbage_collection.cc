#include "master/store/testing/fake_garbage_collection.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/store/interfaces/canonical.h"

namespace det::store {
namespace {

using Ids = std::vector<model::ExperimentId>;
using model::CheckpointState;
using model::ExperimentState;

// Removes at most `limit` elements; returns how many it removed.
template <class Container, class Condition>
int RemoveUpTo(Container& rows, int limit, const Condition& condition) {
  int removed = 0;
  std::erase_if(
      rows, [&](const auto& row) { return removed < limit && condition(row) && ++removed > 0; });
  return removed;
}

}  // namespace

absl::StatusOr<Ids> FakeGarbageCollection::ListDueRetentions(model::ExperimentId after, int limit) {
  std::lock_guard lock(db_.mutex);
  Ids due;
  for (const auto& [id, e] : db_.experiments) {
    if (!(id > after) || static_cast<int>(due.size()) == limit) continue;
    const bool ended = IsTerminal(e.state) && !IsDeletion(e.state) && !e.unmanaged;
    if (ended && !db_.retained.contains(id)) due.push_back(id);
  }
  return due;
}

absl::StatusOr<std::vector<CheckpointToDelete>> FakeGarbageCollection::ListCheckpointsToDelete(
    const model::CheckpointId& after, int limit) {
  std::lock_guard lock(db_.mutex);
  std::vector<CheckpointToDelete> doomed;
  for (const auto& [id, checkpoint] : db_.checkpoints) {
    if (!(id > after) || checkpoint.state != CheckpointState::kDeleting) continue;
    const experiment::Experiment& e =
        db_.experiments.at(db_.trials.at(checkpoint.trial).experiment);
    const model::CheckpointStorageConfig storage = db_.GetStorage(checkpoint, e);
    doomed.push_back({id, e.id, storage, IsOutside(e, storage)});
    if (static_cast<int>(doomed.size()) == limit) break;
  }
  return doomed;
}

absl::Status FakeGarbageCollection::MarkCheckpointsDeleted(
    const std::vector<model::CheckpointId>& ids) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  for (const model::CheckpointId& id : ids) {
    CheckpointState& state = db_.checkpoints.at(id).state;
    if (state == CheckpointState::kDeleting) state = CheckpointState::kDeleted;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<CheckpointToTrim>> FakeGarbageCollection::ListCheckpointsToTrim(
    const model::CheckpointId& after, int limit) {
  std::lock_guard lock(db_.mutex);
  std::vector<CheckpointToTrim> trimmed;
  for (auto it = db_.trims.upper_bound(after); it != db_.trims.end(); ++it) {
    const model::CheckpointRecord& checkpoint = db_.checkpoints.at(it->first);
    const experiment::Experiment& e =
        db_.experiments.at(db_.trials.at(checkpoint.trial).experiment);
    const model::CheckpointStorageConfig storage = db_.GetStorage(checkpoint, e);
    trimmed.push_back({it->first,
                       e.id,
                       storage,
                       checkpoint.resources,
                       {it->second.begin(), it->second.end()},
                       IsOutside(e, storage)});
    if (static_cast<int>(trimmed.size()) == limit) break;
  }
  return trimmed;
}

absl::Status FakeGarbageCollection::MarkCheckpointTrimmed(const CheckpointToTrim& trimmed,
                                                          const model::Resources& left) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  const auto it = db_.trims.find(trimmed.id);
  if (it == db_.trims.end()) return absl::OkStatus();
  if (it->second != std::set<std::string>(trimmed.globs.begin(), trimmed.globs.end())) {
    return absl::OkStatus();
  }
  db_.trims.erase(it);
  model::CheckpointRecord& checkpoint = db_.checkpoints.at(trimmed.id);
  checkpoint.resources = left;
  if (!model::HasFiles(left)) checkpoint.state = CheckpointState::kDeleted;
  return absl::OkStatus();
}

absl::StatusOr<Ids> FakeGarbageCollection::ListDeletions() {
  std::lock_guard lock(db_.mutex);
  Ids ids;
  for (const auto& [id, e] : db_.experiments) {
    if (e.state == ExperimentState::kDeleting) ids.push_back(id);
  }
  return ids;
}

absl::StatusOr<Ids> FakeGarbageCollection::ListReleased() {
  std::lock_guard lock(db_.mutex);
  Ids ids;
  for (const auto& [id, e] : db_.experiments) {
    if (e.state != ExperimentState::kDeleted) continue;
    const bool whole =
        std::all_of(db_.checkpoints.begin(), db_.checkpoints.end(), [&, of = id](const auto& item) {
          return !db_.BelongsTo(item.second, of) || !db_.FindHolder(item.first).empty();
        });
    const bool empty = std::none_of(db_.trials.begin(), db_.trials.end(),
                                    [of = id](const auto& t) { return t.second.experiment == of; });
    if (!whole || empty) ids.push_back(id);
  }
  return ids;
}

absl::StatusOr<Ids> FakeGarbageCollection::ListOfDeletedProjects() {
  std::lock_guard lock(db_.mutex);
  Ids ids;
  for (const auto& [id, e] : db_.experiments) {
    const auto project = db_.workspace_rows.projects.find(e.project);
    if (project == db_.workspace_rows.projects.end()) continue;
    const WorkspaceRecord& workspace = db_.workspace_rows.workspaces.at(project->second.workspace);
    const bool doomed = project->second.state == WorkspaceState::kDeleting ||
                        workspace.state == WorkspaceState::kDeleting;
    const bool begun =
        e.state == ExperimentState::kDeleting || e.state == ExperimentState::kDeleted;
    if (doomed && model::IsTerminal(e.state) && !begun) ids.push_back(id);
  }
  return ids;
}

absl::StatusOr<bool> FakeGarbageCollection::RemoveRows(model::ExperimentId id, int limit) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  const auto e = db_.experiments.find(id);
  if (e == db_.experiments.end() || e->second.state != ExperimentState::kDeleting) return true;
  std::set<model::TaskId> tasks;
  std::set<model::TrialId> trials;
  for (const auto& [number, trial] : db_.trials) {
    if (trial.experiment != id) continue;
    tasks.insert(trial.task);
    trials.insert(number);
  }
  if (RemoveUpTo(db_.logs, limit, [&](const auto& l) { return tasks.contains(l.line.task); }) > 0 ||
      RemoveUpTo(db_.metrics, limit,
                 [&](const auto& m) { return trials.contains(m.second.trial); }) > 0 ||
      RemoveUpTo(db_.searcher_events, limit, [&](const auto& s) { return s.first.first == id; }) >
          0) {
    return false;
  }
  RemoveRest(id);
  return true;
}

void FakeGarbageCollection::RemoveRest(model::ExperimentId id) {
  experiment::Experiment& e = db_.experiments.at(id);
  cluster::Image& highest = db_.highest_deleted;
  highest.last_experiment = std::max(highest.last_experiment, id.value());
  for (const auto& [number, trial] : db_.trials) {
    if (trial.experiment == id) highest.last_trial = std::max(highest.last_trial, number.value());
  }
  const auto is_of = [&](model::TrialId trial) {
    return db_.trials.contains(trial) && db_.trials.at(trial).experiment == id;
  };
  std::erase_if(db_.allocations, [&](const auto& item) {
    const experiment::Allocation& a = item.second;
    if (!is_of(a.trial)) return false;
    highest.last_submitted = std::max(highest.last_submitted, a.submitted);
    if (a.ended_at && a.started_at && a.granted > 0) {
      db_.deleted_runs.push_back({a, id, experiment::OwnerName(e),
                                  db_.FindWorkspace(a, db_.WithCurrentProject(e).workspace).name});
    }
    return true;
  });
  db_.searchers.erase(id);
  std::erase_if(db_.checkpoints, [&](const auto& item) {
    return is_of(item.second.trial) && item.second.state == CheckpointState::kDeleted;
  });
  std::erase_if(db_.trial_sources, [&](const auto& item) { return is_of(item.second.trial); });
  bool left = false;
  std::erase_if(db_.trials, [&](const auto& item) {
    if (item.second.experiment != id) return false;
    const bool needed = std::any_of(db_.checkpoints.begin(), db_.checkpoints.end(),
                                    [&](const auto& c) { return c.second.trial == item.first; });
    left = left || needed;
    db_.run_metadata.erase(item.first);
    db_.last_activity.erase(item.first);
    return !needed;
  });
  e.state = ExperimentState::kDeleted;
  e.reason.clear();
  e.external_id.reset();
  if (!left) db_.experiments.erase(id), db_.workspace_rows.experiment_notes.erase(id);
}

absl::Status FakeGarbageCollection::MarkDeletionFailed(model::ExperimentId id,
                                                       const std::string& reason) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  const auto e = db_.experiments.find(id);
  if (e == db_.experiments.end() || e->second.state != ExperimentState::kDeleting) {
    return absl::OkStatus();
  }
  e->second.state = ExperimentState::kDeleteFailed;
  e->second.reason = reason;
  return absl::OkStatus();
}

absl::Status FakeGarbageCollection::SetExperimentLogDays(model::ExperimentId id, int days) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  if (!db_.experiments.contains(id)) {
    return absl::NotFoundError(absl::StrCat("experiment ", id.value(), " not found"));
  }
  db_.log_days[id] = days;
  for (const auto& [number, trial] : db_.trials) {
    if (trial.experiment == id) db_.trial_log_days.erase(number);
  }
  return absl::OkStatus();
}

absl::Status FakeGarbageCollection::SetTrialLogDays(model::TrialId id, int days) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  if (!db_.trials.contains(id))
    return absl::NotFoundError(absl::StrCat("trial ", id.value(), " not found"));
  db_.trial_log_days[id] = days;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<int>> FakeGarbageCollection::GetTrialLogDays(model::TrialId id) {
  std::lock_guard lock(db_.mutex);
  const auto trial = db_.trials.find(id);
  if (trial == db_.trials.end())
    return absl::NotFoundError(absl::StrCat("trial ", id.value(), " not found"));
  if (const auto it = db_.trial_log_days.find(id); it != db_.trial_log_days.end()) {
    return it->second;
  }
  const model::ExperimentId experiment = trial->second.experiment;
  if (const auto it = db_.log_days.find(experiment); it != db_.log_days.end()) return it->second;
  return db_.experiments.at(experiment).config->log_retention_days;
}

absl::StatusOr<int> FakeGarbageCollection::RemoveExpiredLogs(absl::Time now, int days, int limit) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  std::set<model::TaskId> due;
  for (const auto& [id, trial] : db_.trials) {
    const experiment::Experiment& e = db_.experiments.at(trial.experiment);
    int kept = e.config->log_retention_days.value_or(days);
    if (const auto log_days = db_.log_days.find(e.id); log_days != db_.log_days.end())
      kept = log_days->second;
    if (const auto log_days = db_.trial_log_days.find(id); log_days != db_.trial_log_days.end()) {
      kept = log_days->second;
    }
    const bool over = trial.ended_at && *trial.ended_at < now - absl::Hours(24) * kept;
    if (kept >= 0 && over) due.insert(trial.task);
  }
  for (const auto& [id, task] : db_.tasks) {
    const bool over = task.ended_at && *task.ended_at < now - absl::Hours(24) * days;
    if (days >= 0 && over) due.insert(id);
  }
  return RemoveUpTo(db_.logs, limit, [&](const auto& l) { return due.contains(l.line.task); });
}

absl::StatusOr<bool> FakeGarbageCollection::RemoveExpiredAudit(absl::Time until, int limit) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  return RemoveUpTo(db_.governance.audit, limit, [&](const auto& r) { return r.at < until; }) <
         limit;
}

absl::StatusOr<std::vector<HeldCheckpoint>> FakeGarbageCollection::ListHeldCheckpoints(
    model::ExperimentId id) {
  std::lock_guard lock(db_.mutex);
  std::vector<HeldCheckpoint> held;
  for (const auto& [number, checkpoint] : db_.checkpoints) {
    const std::string holder = db_.FindHolder(number);
    if (!holder.empty() && db_.BelongsTo(checkpoint, id)) held.push_back({number, holder});
  }
  return held;
}

}  // namespace det::store
