#include "master/store/postgres/sql_models.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/store/interfaces/projects.h"
#include "master/store/postgres/model_rows.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/query.h"
#include "master/store/postgres/rows.h"
#include "master/store/postgres/workspace_rows.h"

namespace det::store {
namespace {

constexpr char kModelSources[] = R"sql(
FROM models m JOIN workspaces w ON w.id = m.workspace LEFT JOIN users u ON u.id = m.owner)sql";
constexpr char kModelColumns[] =
    "SELECT m.id, m.name, m.description, m.notes, m.metadata, m.labels, m.workspace, m.owner, "
    "coalesce(u.username, ''), m.archived, micros(m.created_at), micros(m.updated_at), n.versions, "
    "w.name";
constexpr char kModelCounts[] = R"sql(
CROSS JOIN LATERAL (SELECT count(*) AS versions FROM model_versions v WHERE v.model = m.id) n)sql";
constexpr char kModelWhere[] =
    " WHERE ($1::int IS NULL OR m.id = $1) AND strpos(lower(m.name), lower($2)) > 0 "
    "AND strpos(lower(m.description), lower($3)) > 0 AND ($4::jsonb = '[]' "
    "OR m.labels ?| ARRAY(SELECT jsonb_array_elements_text($4::jsonb))) "
    "AND ($5::boolean IS NULL OR m.archived = $5) "
    "AND ($6::text[] IS NULL OR coalesce(u.username, '') = ANY($6)) "
    "AND ($7::int[] IS NULL OR m.owner = ANY($7)) "
    "AND ($8::text[] IS NULL OR w.name = ANY($8)) "
    "AND ($9::int[] IS NULL OR m.workspace = ANY($9)) "
    "AND ($10::int[] IS NULL OR m.workspace = ANY($10))";

constexpr char kModelAdd[] = R"sql(
INSERT INTO models (name, description, notes, metadata, labels, workspace, owner, archived,
  created_at, updated_at)
VALUES ($1, $2, $3, $4::json, $5::jsonb, $6, $7, $8, $9, $9)
ON CONFLICT (name) DO NOTHING RETURNING id)sql";
constexpr char kModelChange[] = R"sql(
UPDATE models SET name = coalesce($2, name), description = coalesce($3, description),
  notes = coalesce($4, notes), metadata = coalesce($5::json, metadata),
  labels = coalesce($6::jsonb, labels), workspace = coalesce($7, workspace),
  archived = coalesce($8, archived), updated_at = $9
WHERE id = $1)sql";
constexpr char kModelLabels[] = " GROUP BY l.label ORDER BY count(*) DESC, l.label COLLATE \"C\"";

const char* GetSortKey(ModelQuery::Sort sort) {
  using Sort = ModelQuery::Sort;
  switch (sort) {
    case Sort::kId:
      return "m.id";
    case Sort::kName:
      return "m.name";
    case Sort::kDescription:
      return "m.description";
    case Sort::kCreated:
      return "m.created_at";
    case Sort::kUpdated:
      return "m.updated_at";
    case Sort::kNumVersions:
      return "n.versions";
    case Sort::kWorkspace:
      return "w.name";
  }
  return "m.id";
}

Params ToParams(const ModelQuery& query) {
  return {ToParam(query.id),          ToParam(query.name),
          ToParam(query.description), LabelsParam(query.labels),
          ToParam(query.archived),    ToFilter(query.owners),
          ToFilter(query.owner_ids),  ToFilter(query.workspace_names),
          ToFilter(query.workspaces), query.visible ? ToArray(*query.visible) : Param{}};
}

absl::StatusOr<ModelRecord> ToModel(const Result& result, int row) {
  ModelRecord m;
  m.id = static_cast<int32_t>(result.Int(row, 0));
  m.name = std::string(result.Text(row, 1));
  m.description = std::string(result.Text(row, 2));
  m.notes = std::string(result.Text(row, 3));
  DET_ASSIGN_OR_RETURN(m.metadata, ToValue(result, row, 4));
  DET_ASSIGN_OR_RETURN(m.labels, ToLabels(result, row, 5));
  m.workspace = static_cast<int32_t>(result.Int(row, 6));
  m.owner = model::UserId(static_cast<int32_t>(result.Int(row, 7)));
  m.owner_name = std::string(result.Text(row, 8));
  m.archived = result.Bool(row, 9);
  m.created_at = result.Time(row, 10);
  m.updated_at = result.Time(row, 11);
  m.num_versions = static_cast<int>(result.Int(row, 12));
  m.workspace_name = std::string(result.Text(row, 13));
  return m;
}

absl::StatusOr<ModelRecord> ReadModel(Connection& connection, const std::string& name) {
  const auto read = [&](const char* where, Param param) {
    return connection.Exec(absl::StrCat(kModelColumns, kModelSources, kModelCounts, where),
                           {std::move(param)});
  };
  const std::optional<int32_t> id = ParseModelId(name);
  DET_ASSIGN_OR_RETURN(const Result result, id ? read(" WHERE m.id = $1", ToParam(*id))
                                               : read(" WHERE m.name = $1", ToParam(name)));
  if (result.rows() == 0) return NoSuchModel(name);
  return ToModel(result, 0);
}

}  // namespace

absl::StatusOr<ModelRecord> SqlModels::GetModel(const std::string& name) {
  return pool_.Run([&](Connection& connection) { return ReadModel(connection, name); });
}

absl::StatusOr<ModelPage> SqlModels::ListModels(const ModelQuery& query) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<ModelPage> {
    DET_ASSIGN_OR_RETURN(
        const WindowRows window,
        ReadWindow(connection, absl::StrCat("SELECT count(*)", kModelSources, kModelWhere),
                   absl::StrCat(kModelColumns, kModelSources, kModelCounts, kModelWhere,
                                OrderBy(GetSortKey(query.sort), "m.id", query.descending)),
                   ToParams(query), query.window));
    ModelPage page;
    page.total = window.total;
    for (int row = 0; row < window.rows.rows(); ++row) {
      DET_ASSIGN_OR_RETURN(page.models.emplace_back(), ToModel(window.rows, row));
    }
    return page;
  });
}

absl::StatusOr<ModelRecord> SqlModels::AddModel(const ModelRecord& model) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<ModelRecord> {
    DET_RETURN_IF_ERROR(LockOpen(connection, model.workspace));
    DET_ASSIGN_OR_RETURN(
        const Result added,
        connection.Exec(
            kModelAdd,
            {ToParam(model.name), ToParam(model.description), ToParam(model.notes),
             ToParam(model.metadata), LabelsParam(model.labels), ToParam(model.workspace),
             ToParam(model.owner), ToParam(model.archived), ToParam(model.created_at)}));
    if (added.rows() == 0) return ModelExists(model.name);
    return ReadModel(connection, absl::StrCat(added.Int(0, 0)));
  });
}

absl::StatusOr<ModelRecord> SqlModels::ChangeModel(int32_t id, const ModelPatch& patch) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<ModelRecord> {
    DET_RETURN_IF_ERROR(LockModel(connection, id, patch.archived.has_value()).status());
    if (patch.workspace) DET_RETURN_IF_ERROR(LockOpen(connection, *patch.workspace));
    const absl::Status changed =
        connection
            .Exec(kModelChange,
                  {ToParam(id), ToParam(patch.name), ToParam(patch.description),
                   ToParam(patch.notes), ToParam(patch.metadata), LabelsParam(patch.labels),
                   ToParam(patch.workspace), ToParam(patch.archived), ToParam(patch.at)})
            .status();
    if (!changed.ok() && connection.sqlstate() == kUniqueViolation) {
      return ModelExists(patch.name.value_or(""));
    }
    DET_RETURN_IF_ERROR(changed);
    return ReadModel(connection, absl::StrCat(id));
  });
}

absl::Status SqlModels::DeleteModel(int32_t id) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_ASSIGN_OR_RETURN(
        const Result deleted,
        connection.Exec("DELETE FROM models WHERE id = $1 RETURNING id", MakeParams(id)));
    return deleted.rows() > 0 ? absl::OkStatus() : NoSuchModel(absl::StrCat(id));
  });
}

absl::StatusOr<std::vector<std::string>> SqlModels::ListModelLabels(const ModelQuery& query) {
  using Labels = std::vector<std::string>;
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<Labels> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec(
            absl::StrCat("SELECT l.label", kModelSources,
                         " CROSS JOIN LATERAL jsonb_array_elements_text(m.labels) l (label)",
                         kModelWhere, kModelLabels),
            ToParams(query)));
    Labels labels;
    for (int row = 0; row < result.rows(); ++row) labels.emplace_back(result.Text(row, 0));
    return labels;
  });
}

}  // namespace det::store
