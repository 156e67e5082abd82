#include "master/store/postgres/sql_workspaces.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/store/interfaces/groups.h"
#include "master/store/interfaces/models.h"
#include "master/store/interfaces/projects.h"
#include "master/store/postgres/agent_user_rows.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/query.h"
#include "master/store/postgres/workspace_rows.h"

namespace det::store {
namespace {

// $1: the calling user.
constexpr char kWorkspaceSources[] = R"sql(
FROM workspaces w LEFT JOIN users u ON u.id = w.owner
LEFT JOIN workspace_pins n ON n.workspace = w.id AND n.user_id = $1)sql";
constexpr char kWorkspaceColumns[] =
    "SELECT w.id, w.name, w.owner, coalesce(u.username, ''), w.archived, w.immutable, w.state, "
    "w.error, w.agent_user, coalesce(w.checkpoint_storage::text, ''), w.default_compute_pool, "
    "w.default_aux_pool, micros(n.pinned_at), coalesce(c.projects, 0), coalesce(x.experiments, 0)";
// Counts all workspaces in one pass, which is cheaper than searching the many experiments of each.
constexpr char kWorkspaceCounts[] = R"sql(
LEFT JOIN (SELECT workspace, count(*) AS projects FROM projects GROUP BY workspace) c
  ON c.workspace = w.id
LEFT JOIN (SELECT p.workspace, sum(e.number)::bigint AS experiments
  FROM projects p JOIN (SELECT project, count(*) AS number FROM experiments
    WHERE state <> 'DELETED' GROUP BY project) e ON e.project = p.id
  GROUP BY p.workspace) x ON x.workspace = w.id)sql";
constexpr char kNoWorkspaceCounts[] = R"sql(
CROSS JOIN (SELECT 0 AS projects) c CROSS JOIN (SELECT 0 AS experiments) x)sql";
constexpr char kWorkspaceWhere[] =
    " WHERE strpos(lower(w.name), lower($2)) > 0 AND ($3::text IS NULL OR w.name = $3) "
    "AND ($4::boolean IS NULL OR w.archived = $4) "
    "AND ($5::boolean IS NULL OR (n.pinned_at IS NOT NULL) = $5) "
    "AND ($6::text[] IS NULL OR coalesce(u.username, '') = ANY($6)) "
    "AND ($7::int[] IS NULL OR w.owner = ANY($7)) AND ($8::int[] IS NULL OR w.id = ANY($8))";

constexpr char kWorkspaceAdd[] = R"sql(
INSERT INTO workspaces (name, owner, agent_user, checkpoint_storage, default_compute_pool,
  default_aux_pool)
VALUES ($1, $2, $3::json, nullif($4, '')::json, $5, $6)
ON CONFLICT (name) DO NOTHING RETURNING id)sql";
constexpr char kAssignRole[] =
    "INSERT INTO role_assignments (user_id, workspace, role) VALUES ($1, $2, $3) "
    "ON CONFLICT DO NOTHING";
constexpr char kPin[] =
    "INSERT INTO workspace_pins (user_id, workspace, pinned_at) VALUES ($1, $2, $3) "
    "ON CONFLICT (user_id, workspace) DO UPDATE SET pinned_at = excluded.pinned_at";
constexpr char kWorkspaceChange[] = R"sql(
UPDATE workspaces SET name = coalesce($2, name), agent_user = coalesce($3::json, agent_user),
  checkpoint_storage = CASE WHEN $4::text IS NULL THEN checkpoint_storage
                            ELSE nullif($4, '')::json END,
  default_compute_pool = coalesce($5, default_compute_pool),
  default_aux_pool = coalesce($6, default_aux_pool), archived = coalesce($7, archived)
WHERE id = $1)sql";
constexpr char kArchiveProjects[] = "UPDATE projects SET archived = $2 WHERE workspace = $1";
constexpr char kExperimentsIn[] =
    "SELECT count(*) FROM projects p JOIN experiments e ON e.project = p.id "
    "WHERE p.workspace = $1 AND e.state <> 'DELETED'";
constexpr char kModelsIn[] = "SELECT count(*) FROM models WHERE workspace = $1";
// The statements, in order.
constexpr const char* kWorkspaceDelete[] = {
    "DELETE FROM project_visits v USING projects p WHERE p.workspace = $1 AND v.project = p.id",
    "DELETE FROM projects WHERE workspace = $1",
    "DELETE FROM workspace_pins WHERE workspace = $1",
    "DELETE FROM role_assignments WHERE workspace = $1",
    "DELETE FROM group_roles WHERE workspace = $1",
    "DELETE FROM templates WHERE workspace = $1",
    "DELETE FROM workspaces WHERE id = $1",
};

absl::StatusOr<WorkspaceRecord> ToWorkspace(const Result& result, int row) {
  WorkspaceRecord w;
  w.id = static_cast<int32_t>(result.Int(row, 0));
  w.name = std::string(result.Text(row, 1));
  w.owner = model::UserId(static_cast<int32_t>(result.Int(row, 2)));
  w.owner_name = std::string(result.Text(row, 3));
  w.archived = result.Bool(row, 4);
  w.immutable = result.Bool(row, 5);
  DET_ASSIGN_OR_RETURN(w.state, ToWorkspaceState(result.Text(row, 6)));
  w.error = std::string(result.Text(row, 7));
  DET_ASSIGN_OR_RETURN(w.agent_user, ToAgentUser(result, row, 8));
  w.checkpoint_storage = std::string(result.Text(row, 9));
  w.default_compute_pool = std::string(result.Text(row, 10));
  w.default_aux_pool = std::string(result.Text(row, 11));
  w.pinned_at = result.Maybe(&Result::Time, row, 12);
  w.num_projects = static_cast<int>(result.Int(row, 13));
  w.num_experiments = static_cast<int>(result.Int(row, 14));
  return w;
}

absl::StatusOr<WorkspaceRecord> ReadWorkspace(Connection& connection, int32_t id,
                                              model::UserId caller,
                                              const char* counts = kWorkspaceCounts) {
  DET_ASSIGN_OR_RETURN(const Result result,
                       connection.Exec(absl::StrCat(kWorkspaceColumns, kWorkspaceSources, counts,
                                                    " WHERE w.id = $2"),
                                       MakeParams(caller, id)));
  if (result.rows() == 0) return NoSuchWorkspace(id);
  return ToWorkspace(result, 0);
}

struct Locked {
  std::string name;
  bool archived = false;
};
// Locks the row until the transaction ends. NOT_FOUND; FAILED_PRECONDITION if the workspace is
// immutable.
absl::StatusOr<Locked> LockMutable(Connection& connection, int32_t id, const char* what) {
  DET_ASSIGN_OR_RETURN(
      const Result row,
      connection.Exec("SELECT name, immutable, archived FROM workspaces WHERE id = $1 FOR UPDATE",
                      MakeParams(id)));
  if (row.rows() == 0) return NoSuchWorkspace(id);
  Locked locked{std::string(row.Text(0, 0)), row.Bool(0, 2)};
  if (row.Bool(0, 1)) return ImmutableError("workspace", locked.name, what);
  return locked;
}

}  // namespace

absl::StatusOr<WorkspaceRecord> SqlWorkspaces::GetWorkspace(int32_t id, model::UserId caller) {
  return pool_.Run([&](Connection& connection) { return ReadWorkspace(connection, id, caller); });
}

absl::StatusOr<WorkspaceRecord> SqlWorkspaces::GetWorkspaceSettings(int32_t id) {
  return pool_.Run([&](Connection& connection) {
    return ReadWorkspace(connection, id, {}, kNoWorkspaceCounts);
  });
}

absl::StatusOr<std::string> SqlWorkspaces::GetWorkspaceName(int32_t workspace) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<std::string> {
    DET_ASSIGN_OR_RETURN(
        const Result row,
        connection.Exec("SELECT name FROM workspaces WHERE id = $1", MakeParams(workspace)));
    if (row.rows() == 0) return NoSuchWorkspace(workspace);
    return std::string(row.Text(0, 0));
  });
}

absl::StatusOr<WorkspacePage> SqlWorkspaces::ListWorkspaces(const WorkspaceQuery& query) {
  const char* key = query.sort == WorkspaceQuery::Sort::kName ? "lower(w.name)" : "w.id";
  const Params params = {ToParam(query.caller),
                         ToParam(query.name),
                         query.exact_name.empty() ? Param{} : ToParam(query.exact_name),
                         ToParam(query.archived),
                         ToParam(query.pinned),
                         ToFilter(query.owners),
                         ToFilter(query.owner_ids),
                         query.visible ? ToArray(*query.visible) : Param{}};
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<WorkspacePage> {
    DET_ASSIGN_OR_RETURN(
        const WindowRows window,
        ReadWindow(connection, absl::StrCat("SELECT count(*)", kWorkspaceSources, kWorkspaceWhere),
                   absl::StrCat(kWorkspaceColumns, kWorkspaceSources, kWorkspaceCounts,
                                kWorkspaceWhere, OrderBy(key, "w.id", query.descending)),
                   params, query.window));
    WorkspacePage page;
    page.total = window.total;
    for (int row = 0; row < window.rows.rows(); ++row) {
      DET_ASSIGN_OR_RETURN(page.workspaces.emplace_back(), ToWorkspace(window.rows, row));
    }
    return page;
  });
}

absl::StatusOr<WorkspaceRecord> SqlWorkspaces::AddWorkspace(const WorkspaceRecord& workspace,
                                                            std::optional<model::RoleId> role) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<WorkspaceRecord> {
    DET_ASSIGN_OR_RETURN(
        const Result added,
        connection.Exec(
            kWorkspaceAdd,
            {ToParam(workspace.name), ToParam(workspace.owner), ToParam(workspace.agent_user),
             ToParam(workspace.checkpoint_storage), ToParam(workspace.default_compute_pool),
             ToParam(workspace.default_aux_pool)}));
    if (added.rows() == 0) return WorkspaceExists(workspace.name);
    const auto id = static_cast<int32_t>(added.Int(0, 0));
    if (role) {
      DET_RETURN_IF_ERROR(
          connection.Exec(kAssignRole, MakeParams(workspace.owner, id, ToText(*role))).status());
    }
    if (workspace.pinned_at) {
      DET_RETURN_IF_ERROR(
          connection.Exec(kPin, MakeParams(workspace.owner, id, *workspace.pinned_at)).status());
    }
    return ReadWorkspace(connection, id, workspace.owner);
  });
}

absl::StatusOr<WorkspaceRecord> SqlWorkspaces::ChangeWorkspace(int32_t id,
                                                               const WorkspacePatch& patch) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<WorkspaceRecord> {
    DET_ASSIGN_OR_RETURN(const Locked row, LockMutable(connection, id, "changed"));
    if (row.archived && !patch.archived) return WorkspaceIsArchived(row.name);
    const absl::Status changed =
        connection
            .Exec(kWorkspaceChange,
                  {ToParam(id), ToParam(patch.name), ToParam(patch.agent_user),
                   ToParam(patch.checkpoint_storage), ToParam(patch.default_compute_pool),
                   ToParam(patch.default_aux_pool), ToParam(patch.archived)})
            .status();
    if (!changed.ok() && connection.sqlstate() == kUniqueViolation) {
      return WorkspaceExists(patch.name.value_or(""));
    }
    DET_RETURN_IF_ERROR(changed);
    if (patch.archived) {
      DET_RETURN_IF_ERROR(
          connection.Exec(kArchiveProjects, MakeParams(id, *patch.archived)).status());
    }
    return ReadWorkspace(connection, id, {});
  });
}

absl::Status SqlWorkspaces::DeleteWorkspace(int32_t id) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_ASSIGN_OR_RETURN(const Locked row, LockMutable(connection, id, "deleted"));
    DET_ASSIGN_OR_RETURN(const Result in, connection.Exec(kExperimentsIn, MakeParams(id)));
    if (in.Int(0, 0) > 0) return NotEmptyError("workspace", row.name, in.Int(0, 0));
    DET_ASSIGN_OR_RETURN(const Result models, connection.Exec(kModelsIn, MakeParams(id)));
    if (models.Int(0, 0) > 0) return WorkspaceHasModels(row.name, models.Int(0, 0));
    for (const char* sql : kWorkspaceDelete) {
      DET_RETURN_IF_ERROR(connection.Exec(sql, MakeParams(id)).status());
    }
    return absl::OkStatus();
  });
}

absl::Status SqlWorkspaces::StartDeletion(int32_t id) {
  constexpr char kLiveIn[] =
      "SELECT count(*) FROM projects p JOIN experiments e ON e.project = p.id "
      "WHERE p.workspace = $1 AND e.state NOT IN "
      "('COMPLETED', 'CANCELED', 'ERROR', 'DELETING', 'DELETE_FAILED', 'DELETED')";
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_RETURN_IF_ERROR(LockMutable(connection, id, "deleted").status());
    DET_ASSIGN_OR_RETURN(const WorkspaceRecord workspace, ReadWorkspace(connection, id, {}));
    DET_ASSIGN_OR_RETURN(const Result live, connection.Exec(kLiveIn, MakeParams(id)));
    if (live.Int(0, 0) > 0) return RunningError("workspace", workspace.name, live.Int(0, 0));
    DET_ASSIGN_OR_RETURN(const Result models, connection.Exec(kModelsIn, MakeParams(id)));
    if (models.Int(0, 0) > 0) return WorkspaceHasModels(workspace.name, models.Int(0, 0));
    return connection
        .Exec("UPDATE workspaces SET state = 'DELETING', error = '' WHERE id = $1", MakeParams(id))
        .status();
  });
}

absl::StatusOr<std::vector<int32_t>> SqlWorkspaces::ListDeletions() {
  return SelectInts(pool_, "SELECT id FROM workspaces WHERE state = 'DELETING' ORDER BY id");
}

absl::Status SqlWorkspaces::MarkDeletionFailed(int32_t id, const std::string& reason) {
  constexpr char kFail[] =
      "UPDATE workspaces SET state = 'DELETE_FAILED', error = $2 WHERE id = $1 AND state = "
      "'DELETING'";
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    return connection.Exec(kFail, MakeParams(id, reason)).status();
  });
}

absl::Status SqlWorkspaces::PinWorkspace(model::UserId user, int32_t id,
                                         std::optional<absl::Time> at) {
  constexpr char kUnpin[] = "DELETE FROM workspace_pins WHERE user_id = $1 AND workspace = $2";
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_RETURN_IF_ERROR(ReadWorkspace(connection, id, user).status());
    return at ? connection.Exec(kPin, MakeParams(user, id, *at)).status()
              : connection.Exec(kUnpin, MakeParams(user, id)).status();
  });
}

}  // namespace det::store
