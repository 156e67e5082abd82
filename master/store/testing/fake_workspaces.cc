#include "master/store/testing/fake_workspaces.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/interfaces/projects.h"
#include "master/store/testing/fake_sort.h"

namespace det::store {

WorkspaceRecord FakeWorkspaces::Read(const WorkspaceRecord& row, model::UserId caller) const {
  WorkspaceRecord record = row;
  record.owner_name = db_.GetUsername(record.owner);
  const auto pin = db_.workspace_rows.pins.find({caller, record.id});
  if (pin != db_.workspace_rows.pins.end()) record.pinned_at = pin->second;
  for (const auto& [id, project] : db_.workspace_rows.projects) {
    record.num_projects += project.workspace == record.id;
  }
  for (const auto& [id, e] : db_.experiments) {
    const auto project = db_.workspace_rows.projects.find(e.project);
    record.num_experiments += e.state != model::ExperimentState::kDeleted &&
                              project != db_.workspace_rows.projects.end() &&
                              project->second.workspace == record.id;
  }
  return record;
}

bool FakeWorkspaces::IsTaken(const std::string& name, int32_t excluded) const {
  for (const auto& [id, workspace] : db_.workspace_rows.workspaces) {
    if (workspace.name == name && id != excluded) return true;
  }
  return false;
}

absl::StatusOr<WorkspaceRecord> FakeWorkspaces::GetWorkspace(int32_t id, model::UserId caller) {
  std::lock_guard lock(db_.mutex);
  const auto it = db_.workspace_rows.workspaces.find(id);
  if (it == db_.workspace_rows.workspaces.end()) return NoSuchWorkspace(id);
  return Read(it->second, caller);
}

absl::StatusOr<WorkspaceRecord> FakeWorkspaces::GetWorkspaceSettings(int32_t id) {
  absl::StatusOr<WorkspaceRecord> record = GetWorkspace(id, {});
  if (!record.ok()) return record;
  record->num_projects = record->num_experiments = 0;
  return record;
}

absl::StatusOr<std::string> FakeWorkspaces::GetWorkspaceName(int32_t workspace) {
  std::lock_guard lock(db_.mutex);
  const auto it = db_.workspace_rows.workspaces.find(workspace);
  if (it == db_.workspace_rows.workspaces.end()) return NoSuchWorkspace(workspace);
  return it->second.name;
}

absl::StatusOr<WorkspacePage> FakeWorkspaces::ListWorkspaces(const WorkspaceQuery& query) {
  std::lock_guard lock(db_.mutex);
  std::vector<WorkspaceRecord> found;
  for (const auto& [id, row] : db_.workspace_rows.workspaces) {
    WorkspaceRecord record = Read(row, query.caller);
    if (!MatchesQuery(query, record, id)) continue;
    if (query.pinned && *query.pinned != record.pinned_at.has_value()) continue;
    found.push_back(std::move(record));
  }
  SortBy(
      found, query.descending,
      [&](const WorkspaceRecord& w) {
        const bool by_name = query.sort == WorkspaceQuery::Sort::kName;
        return std::optional(by_name ? absl::AsciiStrToLower(w.name) : std::string());
      },
      [](const WorkspaceRecord& w) { return w.id; });
  const int total = static_cast<int>(found.size());
  const Range range = Resolve(query.window, total);
  return WorkspacePage{{found.begin() + range.begin, found.begin() + range.end}, total};
}

absl::StatusOr<WorkspaceRecord> FakeWorkspaces::AddWorkspace(const WorkspaceRecord& workspace,
                                                             std::optional<model::RoleId> role) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  if (IsTaken(workspace.name, 0)) return WorkspaceExists(workspace.name);
  const int32_t id = ++db_.workspace_rows.last_workspace;
  WorkspaceRecord& row = db_.workspace_rows.workspaces[id];
  row = workspace;
  row.id = id;
  row.pinned_at.reset();
  if (workspace.pinned_at) {
    db_.workspace_rows.pins[{workspace.owner, id}] = Canonical(*workspace.pinned_at);
  }
  if (role) db_.access.roles.insert({workspace.owner, id, *role});
  return Read(row, workspace.owner);
}

absl::StatusOr<WorkspaceRecord> FakeWorkspaces::ChangeWorkspace(int32_t id,
                                                                const WorkspacePatch& patch) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  const auto it = db_.workspace_rows.workspaces.find(id);
  if (it == db_.workspace_rows.workspaces.end()) return NoSuchWorkspace(id);
  WorkspaceRecord& row = it->second;
  if (row.immutable) return ImmutableError("workspace", row.name, "changed");
  if (row.archived && !patch.archived) return WorkspaceIsArchived(row.name);
  if (patch.name && IsTaken(*patch.name, id)) return WorkspaceExists(*patch.name);
  if (patch.name) row.name = *patch.name;
  if (patch.agent_user) row.agent_user = patch.agent_user;
  if (patch.checkpoint_storage) row.checkpoint_storage = *patch.checkpoint_storage;
  if (patch.default_compute_pool) row.default_compute_pool = *patch.default_compute_pool;
  if (patch.default_aux_pool) row.default_aux_pool = *patch.default_aux_pool;
  if (patch.archived) {
    row.archived = *patch.archived;
    for (auto& [unused, project] : db_.workspace_rows.projects) {
      if (project.workspace == id) project.archived = *patch.archived;
    }
  }
  return Read(row, {});
}

absl::Status FakeWorkspaces::StartDeletion(int32_t id) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  const auto it = db_.workspace_rows.workspaces.find(id);
  if (it == db_.workspace_rows.workspaces.end()) return NoSuchWorkspace(id);
  WorkspaceRecord& record = it->second;
  if (record.immutable) return ImmutableError("workspace", record.name, "deleted");
  const auto live =
      std::count_if(db_.experiments.begin(), db_.experiments.end(), [&](const auto& e) {
        return db_.WithCurrentProject(e.second).workspace == id &&
               !model::IsTerminal(e.second.state);
      });
  if (live > 0) return RunningError("workspace", record.name, live);
  const auto models =
      std::count_if(db_.models.models.begin(), db_.models.models.end(),
                    [&](const auto& model) { return model.second.workspace == id; });
  if (models > 0) return WorkspaceHasModels(record.name, models);
  record.state = WorkspaceState::kDeleting;
  record.error.clear();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int32_t>> FakeWorkspaces::ListDeletions() {
  std::lock_guard lock(db_.mutex);
  std::vector<int32_t> ids;
  for (const auto& [id, record] : db_.workspace_rows.workspaces) {
    if (record.state == WorkspaceState::kDeleting) ids.push_back(id);
  }
  return ids;
}

absl::Status FakeWorkspaces::MarkDeletionFailed(int32_t id, const std::string& reason) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  const auto it = db_.workspace_rows.workspaces.find(id);
  if (it == db_.workspace_rows.workspaces.end()) return absl::OkStatus();
  if (it->second.state != WorkspaceState::kDeleting) return absl::OkStatus();
  it->second.state = WorkspaceState::kDeleteFailed;
  it->second.error = reason;
  return absl::OkStatus();
}

absl::Status FakeWorkspaces::DeleteWorkspace(int32_t id) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  const auto it = db_.workspace_rows.workspaces.find(id);
  if (it == db_.workspace_rows.workspaces.end()) return NoSuchWorkspace(id);
  const WorkspaceRecord record = Read(it->second, {});
  if (record.immutable) return ImmutableError("workspace", record.name, "deleted");
  if (record.num_experiments > 0) {
    return NotEmptyError("workspace", record.name, record.num_experiments);
  }
  const auto models =
      std::count_if(db_.models.models.begin(), db_.models.models.end(),
                    [&](const auto& model) { return model.second.workspace == id; });
  if (models > 0) return WorkspaceHasModels(record.name, models);
  std::erase_if(db_.workspace_rows.projects,
                [&](const auto& project) { return project.second.workspace == id; });
  std::erase_if(db_.workspace_rows.pins, [&](const auto& pin) { return pin.first.second == id; });
  std::erase_if(db_.webhook_rows.webhooks,
                [&](const auto& hook) { return hook.second.workspace == id; });
  std::erase_if(db_.templates, [&](const auto& each) { return each.second.workspace == id; });
  std::erase_if(db_.webhook_rows.policies,
                [&](const auto& each) { return each.first.first == id; });
  db_.workspace_rows.workspaces.erase(it);
  return absl::OkStatus();
}

absl::Status FakeWorkspaces::PinWorkspace(model::UserId user, int32_t id,
                                          std::optional<absl::Time> at) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  if (!db_.workspace_rows.workspaces.contains(id)) return NoSuchWorkspace(id);
  if (at) {
    db_.workspace_rows.pins[{user, id}] = Canonical(*at);
  } else {
    db_.workspace_rows.pins.erase({user, id});
  }
  return absl::OkStatus();
}

}  // namespace det::store
