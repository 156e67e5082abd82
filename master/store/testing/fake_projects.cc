#include "master/store/testing/fake_projects.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/testing/fake_sort.h"

namespace det::store {

ProjectRecord FakeProjects::Read(const ProjectRecord& row) const {
  ProjectRecord record = row;
  record.owner_name = db_.GetUsername(record.owner);
  record.workspace_name = db_.workspace_rows.workspaces.at(record.workspace).name;
  for (const auto& [id, e] : db_.experiments) {
    if (e.project != record.id || e.state == model::ExperimentState::kDeleted) continue;
    ++record.num_experiments;
    record.num_active_experiments += !model::IsTerminal(e.state);
    record.last_experiment_started_at =
        std::max(record.last_experiment_started_at.value_or(e.created_at), e.created_at);
    for (const auto& [unused, trial] : db_.trials) record.num_runs += trial.experiment == id;
  }
  return record;
}

bool FakeProjects::IsNameTaken(int32_t workspace, const std::string& name, int32_t excluded) const {
  return std::any_of(db_.workspace_rows.projects.begin(), db_.workspace_rows.projects.end(),
                     [&](const auto& item) {
                       const ProjectRecord& p = item.second;
                       return p.workspace == workspace && p.name == name && p.id != excluded;
                     });
}

bool FakeProjects::IsKeyTaken(const std::string& key, int32_t excluded) const {
  return std::any_of(
      db_.workspace_rows.projects.begin(), db_.workspace_rows.projects.end(),
      [&](const auto& item) { return item.second.key == key && item.second.id != excluded; });
}

absl::StatusOr<ProjectRecord> FakeProjects::GetProject(int32_t id) {
  std::lock_guard lock(db_.mutex);
  const auto it = db_.workspace_rows.projects.find(id);
  if (it == db_.workspace_rows.projects.end()) return NoSuchProject(id);
  return Read(it->second);
}

absl::StatusOr<ProjectRecord> FakeProjects::GetProjectSettings(int32_t id) {
  absl::StatusOr<ProjectRecord> record = GetProject(id);
  if (!record.ok()) return record;
  record->last_experiment_started_at.reset();
  record->num_experiments = record->num_active_experiments = record->num_runs = 0;
  return record;
}

absl::StatusOr<ProjectRecord> FakeProjects::GetProjectByKey(const std::string& key) {
  std::lock_guard lock(db_.mutex);
  for (const auto& [id, project] : db_.workspace_rows.projects) {
    if (project.key == key) return Read(project);
  }
  return NoSuchProjectKey(key);
}

absl::StatusOr<ProjectPage> FakeProjects::ListProjects(const ProjectQuery& query) {
  using Sort = ProjectQuery::Sort;
  std::lock_guard lock(db_.mutex);
  std::vector<ProjectRecord> found;
  for (const auto& [id, row] : db_.workspace_rows.projects) {
    ProjectRecord record = Read(row);
    if (query.workspace != 0 && query.workspace != record.workspace) continue;
    if (MatchesQuery(query, record, record.workspace)) found.push_back(std::move(record));
  }
  const auto by = [&](const auto& key) {
    SortBy(found, query.descending, key, [](const ProjectRecord& p) { return p.id; });
  };
  if (query.sort == Sort::kLastExperimentStart) {
    by([](const ProjectRecord& p) { return p.last_experiment_started_at; });
  } else {
    by([&](const ProjectRecord& p) {
      return std::optional(query.sort == Sort::kName          ? absl::AsciiStrToLower(p.name)
                           : query.sort == Sort::kDescription ? p.description
                                                              : std::string());
    });
  }
  const int total = static_cast<int>(found.size());
  const Range range = Resolve(query.window, total);
  return ProjectPage{{found.begin() + range.begin, found.begin() + range.end}, total};
}

absl::StatusOr<ProjectRecord> FakeProjects::AddProject(const ProjectRecord& project) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  const auto workspace = db_.workspace_rows.workspaces.find(project.workspace);
  if (workspace == db_.workspace_rows.workspaces.end()) return NoSuchWorkspace(project.workspace);
  if (workspace->second.archived) return WorkspaceIsArchived(workspace->second.name);
  if (IsNameTaken(project.workspace, project.name, 0)) return ProjectExists(project.name);
  std::string key = project.key;
  if (IsKeyTaken(key, 0)) return ProjectKeyExists(key);
  for (int n = 1; key.empty(); ++n) {
    if (!IsKeyTaken(MakeProjectKey(project.name, n), 0)) key = MakeProjectKey(project.name, n);
  }
  const int32_t id = ++db_.workspace_rows.last_project;
  ProjectRecord& row = db_.workspace_rows.projects[id];
  row = project;
  row.id = id;
  row.key = std::move(key);
  return Read(row);
}

absl::StatusOr<ProjectRecord> FakeProjects::ChangeProject(int32_t id, const ProjectPatch& patch) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  const auto it = db_.workspace_rows.projects.find(id);
  if (it == db_.workspace_rows.projects.end()) return NoSuchProject(id);
  ProjectRecord& row = it->second;
  if (row.immutable && ChangesIdentity(patch))
    return ImmutableError("project", row.name, "changed");
  const WorkspaceRecord& from = db_.workspace_rows.workspaces.at(row.workspace);
  if (from.archived && (ChangesContents(patch) || patch.archived)) {
    return WorkspaceIsArchived(from.name);
  }
  if (row.archived && ChangesContents(patch)) return ProjectIsArchived(row.name);
  const int32_t to = patch.workspace.value_or(row.workspace);
  const auto workspace = db_.workspace_rows.workspaces.find(to);
  if (workspace == db_.workspace_rows.workspaces.end()) return NoSuchWorkspace(to);
  if (to != row.workspace && workspace->second.archived) {
    return WorkspaceIsArchived(workspace->second.name);
  }
  const std::string name = patch.name.value_or(row.name);
  if (IsNameTaken(to, name, id)) return ProjectExists(name);
  if (patch.key && IsKeyTaken(*patch.key, id)) return ProjectKeyExists(*patch.key);
  row.workspace = to;
  row.name = name;
  if (patch.key) row.key = *patch.key;
  if (patch.description) row.description = *patch.description;
  if (patch.notes) row.notes = *patch.notes;
  if (patch.archived) row.archived = *patch.archived;
  return Read(row);
}

absl::StatusOr<std::vector<ProjectNote>> FakeProjects::AddNote(int32_t id,
                                                               const ProjectNote& note) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  const auto it = db_.workspace_rows.projects.find(id);
  if (it == db_.workspace_rows.projects.end()) return NoSuchProject(id);
  it->second.notes.push_back(note);
  return it->second.notes;
}

absl::Status FakeProjects::StartDeletion(int32_t id) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  const auto it = db_.workspace_rows.projects.find(id);
  if (it == db_.workspace_rows.projects.end()) return NoSuchProject(id);
  ProjectRecord& record = it->second;
  if (record.immutable) return ImmutableError("project", record.name, "deleted");
  const auto live = std::count_if(
      db_.experiments.begin(), db_.experiments.end(),
      [&](const auto& e) { return e.second.project == id && !model::IsTerminal(e.second.state); });
  if (live > 0) return RunningError("project", record.name, live);
  record.state = WorkspaceState::kDeleting;
  record.error.clear();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int32_t>> FakeProjects::ListDeletions() {
  std::lock_guard lock(db_.mutex);
  std::vector<int32_t> ids;
  for (const auto& [id, record] : db_.workspace_rows.projects) {
    if (record.state == WorkspaceState::kDeleting) ids.push_back(id);
  }
  return ids;
}

absl::Status FakeProjects::MarkDeletionFailed(int32_t id, const std::string& reason) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  const auto it = db_.workspace_rows.projects.find(id);
  if (it == db_.workspace_rows.projects.end()) return absl::OkStatus();
  if (it->second.state != WorkspaceState::kDeleting) return absl::OkStatus();
  it->second.state = WorkspaceState::kDeleteFailed;
  it->second.error = reason;
  return absl::OkStatus();
}

absl::Status FakeProjects::DeleteProject(int32_t id) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  const auto it = db_.workspace_rows.projects.find(id);
  if (it == db_.workspace_rows.projects.end()) return NoSuchProject(id);
  const ProjectRecord record = Read(it->second);
  if (record.immutable) return ImmutableError("project", record.name, "deleted");
  if (record.num_experiments > 0)
    return NotEmptyError("project", record.name, record.num_experiments);
  std::erase_if(db_.workspace_rows.visits,
                [&](const auto& visit) { return visit.first.second == id; });
  db_.workspace_rows.projects.erase(it);
  return absl::OkStatus();
}

absl::Status FakeProjects::RecordVisit(model::UserId user, int32_t project, absl::Time at) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  if (!db_.workspace_rows.projects.contains(project)) return NoSuchProject(project);
  db_.workspace_rows.visits[{user, project}] = Canonical(at);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ProjectRecord>> FakeProjects::ListLastVisited(model::UserId user,
                                                                         int limit) {
  std::lock_guard lock(db_.mutex);
  std::vector<std::tuple<absl::Time, int32_t>> visits;
  for (const auto& [key, at] : db_.workspace_rows.visits) {
    if (key.first == user && db_.workspace_rows.projects.contains(key.second)) {
      visits.emplace_back(at, key.second);
    }
  }
  std::sort(visits.rbegin(), visits.rend());
  std::vector<ProjectRecord> found;
  for (const auto& [at, id] : visits) {
    if (limit > 0 && static_cast<int>(found.size()) == limit) break;
    found.push_back(Read(db_.workspace_rows.projects.at(id)));
  }
  return found;
}

absl::StatusOr<int32_t> FakeProjects::GetWorkspaceId(model::ExperimentId id) {
  std::lock_guard lock(db_.mutex);
  const auto it = db_.experiments.find(id);
  if (it == db_.experiments.end()) return NoSuchResource();
  return db_.workspace_rows.projects.at(it->second.project).workspace;
}

absl::StatusOr<int32_t> FakeProjects::GetWorkspaceId(model::TrialId id) {
  model::ExperimentId experiment;
  {
    std::lock_guard lock(db_.mutex);
    const auto it = db_.trials.find(id);
    if (it == db_.trials.end()) return NoSuchResource();
    experiment = it->second.experiment;
  }
  return GetWorkspaceId(experiment);
}

absl::StatusOr<int32_t> FakeProjects::GetWorkspaceId(const model::CheckpointId& id) {
  model::TrialId trial;
  {
    std::lock_guard lock(db_.mutex);
    const auto it = db_.checkpoints.find(id);
    if (it == db_.checkpoints.end()) return NoSuchResource();
    trial = it->second.trial;
  }
  return GetWorkspaceId(trial);
}

absl::StatusOr<int32_t> FakeProjects::GetProjectWorkspaceId(int32_t id) {
  std::lock_guard lock(db_.mutex);
  const auto it = db_.workspace_rows.projects.find(id);
  if (it == db_.workspace_rows.projects.end()) return NoSuchProject(id);
  return it->second.workspace;
}

absl::StatusOr<std::vector<std::string>> FakeProjects::ListLabels(
    int32_t project, const std::optional<std::vector<int32_t>>& visible) {
  std::lock_guard lock(db_.mutex);
  std::map<std::string, int> counts;
  for (const auto& [id, e] : db_.experiments) {
    if (project != 0 && e.project != project) continue;
    const int32_t workspace = db_.workspace_rows.projects.at(e.project).workspace;
    if (visible && std::count(visible->begin(), visible->end(), workspace) == 0) continue;
    if (e.state == model::ExperimentState::kDeleted) continue;
    for (const std::string& label : e.config->labels) ++counts[label];
  }
  std::vector<std::pair<int, std::string>> order;
  for (const auto& [label, count] : counts) order.emplace_back(-count, label);
  std::sort(order.begin(), order.end());
  std::vector<std::string> labels;
  for (auto& [count, label] : order) labels.push_back(std::move(label));
  return labels;
}

}  // namespace det::store
