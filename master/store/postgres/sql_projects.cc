#include "master/store/postgres/sql_projects.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/query.h"
#include "master/store/postgres/rows.h"
#include "master/store/postgres/workspace_rows.h"

namespace det::store {
namespace {

constexpr char kProjectSources[] = R"sql(
FROM projects p JOIN workspaces w ON w.id = p.workspace LEFT JOIN users u ON u.id = p.owner)sql";
constexpr char kProjectColumns[] =
    "SELECT p.id, p.workspace, w.name, p.name, p.key, p.description, p.owner, "
    "coalesce(u.username, ''), p.archived, p.immutable, p.state, p.error, p.notes, "
    "micros(x.last), x.experiments, x.active, r.runs";
constexpr char kProjectCounts[] = R"sql(
CROSS JOIN LATERAL (SELECT count(*) AS experiments, max(e.created_at) AS last,
    count(*) FILTER (WHERE e.state NOT IN
      ('COMPLETED', 'CANCELED', 'ERROR', 'DELETING', 'DELETE_FAILED', 'DELETED')) AS active
  FROM experiments e WHERE e.project = p.id AND e.state <> 'DELETED') x
CROSS JOIN LATERAL (SELECT count(*) AS runs FROM trials t WHERE t.project = p.id) r)sql";
constexpr char kNoProjectCounts[] = R"sql(
CROSS JOIN (SELECT 0 AS experiments, NULL::timestamptz AS last, 0 AS active) x
CROSS JOIN (SELECT 0 AS runs) r)sql";
constexpr char kProjectWhere[] =
    " WHERE ($1::int = 0 OR p.workspace = $1) AND strpos(lower(p.name), lower($2)) > 0 "
    "AND ($3::text IS NULL OR p.name = $3) AND ($4::boolean IS NULL OR p.archived = $4) "
    "AND ($5::text[] IS NULL OR coalesce(u.username, '') = ANY($5)) "
    "AND ($6::int[] IS NULL OR p.owner = ANY($6)) "
    "AND ($7::int[] IS NULL OR p.workspace = ANY($7))";

constexpr char kProjectAdd[] = R"sql(
INSERT INTO projects (workspace, name, key, description, owner) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (key) DO NOTHING RETURNING id)sql";
constexpr char kProjectChange[] = R"sql(
UPDATE projects SET name = coalesce($2, name), key = coalesce($3, key),
  description = coalesce($4, description), notes = coalesce($5::json, notes),
  workspace = coalesce($6, workspace), archived = coalesce($7, archived)
WHERE id = $1)sql";
constexpr char kAddNote[] =
    "UPDATE projects SET notes = (notes::jsonb || $2::jsonb)::json WHERE id = $1 RETURNING notes";
constexpr char kProjectLabels[] = R"sql(
SELECT l.label FROM experiments e CROSS JOIN LATERAL jsonb_array_elements_text(e.labels) l (label)
WHERE ($1::int = 0 OR e.project = $1) AND e.state <> 'DELETED'
  AND ($2::int[] IS NULL OR e.project IN (SELECT id FROM projects WHERE workspace = ANY($2)))
GROUP BY l.label ORDER BY count(*) DESC, l.label COLLATE "C")sql";

constexpr char kOfExperiment[] =
    "SELECT coalesce(p.workspace, 1) FROM experiments e LEFT JOIN projects p ON p.id = e.project "
    "WHERE e.id = $1";
constexpr char kOfTrial[] =
    "SELECT coalesce(p.workspace, 1) FROM trials t JOIN experiments e ON e.id = t.experiment "
    "LEFT JOIN projects p ON p.id = e.project WHERE t.id = $1";
constexpr char kOfCheckpoint[] =
    "SELECT coalesce(p.workspace, 1) FROM checkpoints c JOIN trials t ON t.id = c.trial "
    "JOIN experiments e ON e.id = t.experiment LEFT JOIN projects p ON p.id = e.project "
    "WHERE c.id = $1";

absl::StatusOr<int32_t> FindWorkspace(Pool& pool, const char* sql, const Params& params) {
  return pool.Run([&](Connection& connection) -> absl::StatusOr<int32_t> {
    DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(sql, params));
    if (result.rows() == 0) return NoSuchResource();
    return static_cast<int32_t>(result.Int(0, 0));
  });
}

const char* GetSortKey(ProjectQuery::Sort sort) {
  using Sort = ProjectQuery::Sort;
  switch (sort) {
    case Sort::kId:
      return "p.id";
    case Sort::kName:
      return "lower(p.name)";
    case Sort::kDescription:
      return "p.description COLLATE \"C\"";
    case Sort::kLastExperimentStart:
      return "x.last";
  }
  return "p.id";
}

Param NotesParam(const std::vector<ProjectNote>& notes) {
  model::Value::List list;
  for (const ProjectNote& note : notes) {
    list.emplace_back(model::Value::Object{{"name", note.name}, {"contents", note.contents}});
  }
  return ToParam(model::Value(std::move(list)));
}

absl::StatusOr<ProjectRecord> ToProject(const Result& result, int row) {
  ProjectRecord p;
  p.id = static_cast<int32_t>(result.Int(row, 0));
  p.workspace = static_cast<int32_t>(result.Int(row, 1));
  p.workspace_name = std::string(result.Text(row, 2));
  p.name = std::string(result.Text(row, 3));
  p.key = std::string(result.Text(row, 4));
  p.description = std::string(result.Text(row, 5));
  p.owner = model::UserId(static_cast<int32_t>(result.Int(row, 6)));
  p.owner_name = std::string(result.Text(row, 7));
  p.archived = result.Bool(row, 8);
  p.immutable = result.Bool(row, 9);
  DET_ASSIGN_OR_RETURN(p.state, ToWorkspaceState(result.Text(row, 10)));
  p.error = std::string(result.Text(row, 11));
  DET_ASSIGN_OR_RETURN(const model::Value notes, ToValue(result, row, 12));
  p.notes = ToNotes(notes);
  p.last_experiment_started_at = result.Maybe(&Result::Time, row, 13);
  p.num_experiments = static_cast<int>(result.Int(row, 14));
  p.num_active_experiments = static_cast<int>(result.Int(row, 15));
  p.num_runs = static_cast<int>(result.Int(row, 16));
  return p;
}

absl::StatusOr<std::vector<ProjectRecord>> ToProjects(const Result& result) {
  std::vector<ProjectRecord> projects;
  for (int row = 0; row < result.rows(); ++row) {
    DET_ASSIGN_OR_RETURN(projects.emplace_back(), ToProject(result, row));
  }
  return projects;
}

absl::StatusOr<ProjectRecord> ReadProject(Connection& connection, int32_t id,
                                          const char* counts = kProjectCounts) {
  DET_ASSIGN_OR_RETURN(
      const Result result,
      connection.Exec(absl::StrCat(kProjectColumns, kProjectSources, counts, " WHERE p.id = $1"),
                      MakeParams(id)));
  if (result.rows() == 0) return NoSuchProject(id);
  return ToProject(result, 0);
}

struct Locked {
  std::string name;
  int32_t workspace = 0;
  bool immutable = false;
  bool archived = false;
};
absl::StatusOr<Locked> Lock(Connection& connection, int32_t id) {
  DET_ASSIGN_OR_RETURN(const Result row,
                       connection.Exec("SELECT name, workspace, immutable, archived FROM projects "
                                       "WHERE id = $1 FOR UPDATE",
                                       MakeParams(id)));
  if (row.rows() == 0) return NoSuchProject(id);
  return Locked{std::string(row.Text(0, 0)), static_cast<int32_t>(row.Int(0, 1)), row.Bool(0, 2),
                row.Bool(0, 3)};
}

absl::StatusOr<int32_t> Insert(Connection& connection, const ProjectRecord& p) {
  for (int n = 1;; ++n) {
    const std::string key = p.key.empty() ? MakeProjectKey(p.name, n) : p.key;
    const absl::StatusOr<Result> added =
        connection.Exec(kProjectAdd, MakeParams(p.workspace, p.name, key, p.description, p.owner));
    if (!added.ok() && connection.sqlstate() == kUniqueViolation) return ProjectExists(p.name);
    DET_RETURN_IF_ERROR(added.status());
    if (added->rows() > 0) return static_cast<int32_t>(added->Int(0, 0));
    if (!p.key.empty()) return ProjectKeyExists(p.key);
  }
}

}  // namespace

absl::StatusOr<ProjectRecord> SqlProjects::GetProject(int32_t id) {
  return pool_.Run([&](Connection& connection) { return ReadProject(connection, id); });
}

absl::StatusOr<ProjectRecord> SqlProjects::GetProjectSettings(int32_t id) {
  return pool_.Run(
      [&](Connection& connection) { return ReadProject(connection, id, kNoProjectCounts); });
}

absl::StatusOr<ProjectRecord> SqlProjects::GetProjectByKey(const std::string& key) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<ProjectRecord> {
    DET_ASSIGN_OR_RETURN(const Result result,
                         connection.Exec(absl::StrCat(kProjectColumns, kProjectSources,
                                                      kProjectCounts, " WHERE p.key = $1"),
                                         MakeParams(key)));
    if (result.rows() == 0) return NoSuchProjectKey(key);
    return ToProject(result, 0);
  });
}

absl::StatusOr<ProjectPage> SqlProjects::ListProjects(const ProjectQuery& query) {
  const Params params = {ToParam(query.workspace),
                         ToParam(query.name),
                         query.exact_name.empty() ? Param{} : ToParam(query.exact_name),
                         ToParam(query.archived),
                         ToFilter(query.owners),
                         ToFilter(query.owner_ids),
                         query.visible ? ToArray(*query.visible) : Param{}};
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<ProjectPage> {
    DET_ASSIGN_OR_RETURN(
        const WindowRows window,
        ReadWindow(connection, absl::StrCat("SELECT count(*)", kProjectSources, kProjectWhere),
                   absl::StrCat(kProjectColumns, kProjectSources, kProjectCounts, kProjectWhere,
                                OrderBy(GetSortKey(query.sort), "p.id", query.descending)),
                   params, query.window));
    ProjectPage page;
    page.total = window.total;
    DET_ASSIGN_OR_RETURN(page.projects, ToProjects(window.rows));
    return page;
  });
}

absl::StatusOr<ProjectRecord> SqlProjects::AddProject(const ProjectRecord& project) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<ProjectRecord> {
    DET_RETURN_IF_ERROR(LockOpen(connection, project.workspace));
    DET_ASSIGN_OR_RETURN(const int32_t id, Insert(connection, project));
    return ReadProject(connection, id);
  });
}

absl::StatusOr<ProjectRecord> SqlProjects::ChangeProject(int32_t id, const ProjectPatch& patch) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<ProjectRecord> {
    DET_ASSIGN_OR_RETURN(const Locked row, Lock(connection, id));
    if (row.immutable && ChangesIdentity(patch))
      return ImmutableError("project", row.name, "changed");
    if (ChangesContents(patch) || patch.archived) {
      DET_RETURN_IF_ERROR(LockOpen(connection, row.workspace));
    }
    if (row.archived && ChangesContents(patch)) return ProjectIsArchived(row.name);
    if (patch.workspace && *patch.workspace != row.workspace) {
      DET_RETURN_IF_ERROR(LockOpen(connection, *patch.workspace));
    }
    if (patch.key) {
      DET_ASSIGN_OR_RETURN(const Result other,
                           connection.Exec("SELECT FROM projects WHERE key = $1 AND id <> $2",
                                           MakeParams(*patch.key, id)));
      if (other.rows() > 0) return ProjectKeyExists(*patch.key);
    }
    const Param notes = patch.notes ? NotesParam(*patch.notes) : Param{};
    const absl::Status changed =
        connection
            .Exec(kProjectChange,
                  {ToParam(id), ToParam(patch.name), ToParam(patch.key), ToParam(patch.description),
                   notes, ToParam(patch.workspace), ToParam(patch.archived)})
            .status();
    if (!changed.ok() && connection.sqlstate() == kUniqueViolation) {
      return ProjectExists(patch.name.value_or(row.name));
    }
    DET_RETURN_IF_ERROR(changed);
    return ReadProject(connection, id);
  });
}

absl::StatusOr<std::vector<ProjectNote>> SqlProjects::AddNote(int32_t id, const ProjectNote& note) {
  using Notes = std::vector<ProjectNote>;
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<Notes> {
    DET_ASSIGN_OR_RETURN(const Result row,
                         connection.Exec(kAddNote, {ToParam(id), NotesParam(Notes{note})}));
    if (row.rows() == 0) return NoSuchProject(id);
    DET_ASSIGN_OR_RETURN(const model::Value notes, ToValue(row, 0, 0));
    return ToNotes(notes);
  });
}

absl::Status SqlProjects::DeleteProject(int32_t id) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_ASSIGN_OR_RETURN(const Locked row, Lock(connection, id));
    if (row.immutable) return ImmutableError("project", row.name, "deleted");
    DET_ASSIGN_OR_RETURN(const Result in,
                         connection.Exec("SELECT count(*) FROM experiments WHERE project = $1 "
                                         "AND state <> 'DELETED'",
                                         MakeParams(id)));
    if (in.Int(0, 0) > 0) return NotEmptyError("project", row.name, in.Int(0, 0));
    DET_RETURN_IF_ERROR(
        connection.Exec("DELETE FROM project_visits WHERE project = $1", MakeParams(id)).status());
    return connection.Exec("DELETE FROM projects WHERE id = $1", MakeParams(id)).status();
  });
}

absl::Status SqlProjects::StartDeletion(int32_t id) {
  constexpr char kLiveIn[] =
      "SELECT count(*) FROM experiments WHERE project = $1 AND state NOT IN "
      "('COMPLETED', 'CANCELED', 'ERROR', 'DELETING', 'DELETE_FAILED', 'DELETED')";
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_ASSIGN_OR_RETURN(const Locked row, Lock(connection, id));
    if (row.immutable) return ImmutableError("project", row.name, "deleted");
    DET_ASSIGN_OR_RETURN(const Result live, connection.Exec(kLiveIn, MakeParams(id)));
    if (live.Int(0, 0) > 0) return RunningError("project", row.name, live.Int(0, 0));
    return connection
        .Exec("UPDATE projects SET state = 'DELETING', error = '' WHERE id = $1", MakeParams(id))
        .status();
  });
}

absl::StatusOr<std::vector<int32_t>> SqlProjects::ListDeletions() {
  return SelectInts(pool_, "SELECT id FROM projects WHERE state = 'DELETING' ORDER BY id");
}

absl::Status SqlProjects::MarkDeletionFailed(int32_t id, const std::string& reason) {
  constexpr char kFail[] =
      "UPDATE projects SET state = 'DELETE_FAILED', error = $2 WHERE id = $1 AND state = "
      "'DELETING'";
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    return connection.Exec(kFail, MakeParams(id, reason)).status();
  });
}

absl::StatusOr<int32_t> SqlProjects::GetWorkspaceId(model::ExperimentId id) {
  return FindWorkspace(pool_, kOfExperiment, MakeParams(id));
}
absl::StatusOr<int32_t> SqlProjects::GetWorkspaceId(model::TrialId id) {
  return FindWorkspace(pool_, kOfTrial, MakeParams(id));
}
absl::StatusOr<int32_t> SqlProjects::GetWorkspaceId(const model::CheckpointId& id) {
  return FindWorkspace(pool_, kOfCheckpoint, MakeParams(id));
}
absl::StatusOr<int32_t> SqlProjects::GetProjectWorkspaceId(int32_t id) {
  auto workspace =
      FindWorkspace(pool_, "SELECT workspace FROM projects WHERE id = $1", MakeParams(id));
  return absl::IsNotFound(workspace.status()) ? NoSuchProject(id) : std::move(workspace);
}

absl::Status SqlProjects::RecordVisit(model::UserId user, int32_t project, absl::Time at) {
  constexpr char kVisit[] =
      "INSERT INTO project_visits (user_id, project, at) "
      "SELECT $1::int, id, $3::timestamptz FROM projects WHERE id = $2 "
      "ON CONFLICT (user_id, project) DO UPDATE SET at = excluded.at RETURNING project";
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_ASSIGN_OR_RETURN(const Result row, connection.Exec(kVisit, MakeParams(user, project, at)));
    return row.rows() > 0 ? absl::OkStatus() : NoSuchProject(project);
  });
}

absl::StatusOr<std::vector<ProjectRecord>> SqlProjects::ListLastVisited(model::UserId user,
                                                                        int limit) {
  using Projects = std::vector<ProjectRecord>;
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<Projects> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec(absl::StrCat(kProjectColumns, kProjectSources, kProjectCounts,
                                     " JOIN project_visits v ON v.project = p.id "
                                     "WHERE v.user_id = $1 ORDER BY v.at DESC, p.id DESC "
                                     "LIMIT nullif($2::bigint, 0)"),
                        MakeParams(user, limit)));
    return ToProjects(result);
  });
}

absl::StatusOr<std::vector<std::string>> SqlProjects::ListLabels(
    int32_t project, const std::optional<std::vector<int32_t>>& visible) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<std::vector<std::string>> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec(kProjectLabels, {ToParam(project), visible ? ToArray(*visible) : Param{}}));
    std::vector<std::string> labels;
    for (int row = 0; row < result.rows(); ++row) labels.emplace_back(result.Text(row, 0));
    return labels;
  });
}

}  // namespace det::store
