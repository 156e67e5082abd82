#include "master/store/postgres/sql_streamed_records.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/store/postgres/model_rows.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/rows.h"
#include "master/store/postgres/workspace_rows.h"

namespace det::store {
namespace {

// The columns id, seq, model, workspace and owner of each kind.
const char* GetSources(StreamedKind kind) {
  switch (kind) {
    case StreamedKind::kProject:
      return "(SELECT id, seq, NULL::int AS model, workspace, owner FROM projects)";
    case StreamedKind::kModel:
      return "(SELECT id, seq, NULL::int AS model, workspace, owner FROM models)";
    case StreamedKind::kVersion:
      return "(SELECT v.id, v.seq, v.model, m.workspace, v.owner "
             "FROM model_versions v JOIN models m ON m.id = v.model)";
  }
  return "";
}

constexpr char kMatches[] = R"sql( r
WHERE (r.id = ANY($1::int[]) OR r.workspace = ANY($2::int[]) OR r.model = ANY($3::int[])
    OR r.owner = ANY($4::int[]))
  AND ($5::int[] IS NULL OR r.workspace = ANY($5)))sql";

constexpr char kProjects[] = R"sql(
SELECT id, seq, workspace, name, key, description, owner, archived, immutable, state, notes,
  micros(created_at)
FROM projects WHERE id = ANY($1::int[]) ORDER BY id)sql";
constexpr char kModels[] = R"sql(
SELECT id, seq, workspace, name, description, archived, notes, metadata, labels, owner,
  micros(created_at), micros(updated_at)
FROM models WHERE id = ANY($1::int[]) ORDER BY id)sql";
constexpr char kVersions[] = R"sql(
SELECT v.id, v.seq, m.workspace, v.model, v.version, v.checkpoint, v.name, v.comment, v.notes,
  v.metadata, v.labels, v.owner, micros(v.created_at), micros(v.updated_at)
FROM model_versions v JOIN models m ON m.id = v.model WHERE v.id = ANY($1::int[])
ORDER BY v.id)sql";

int32_t ToInt(const Result& result, int row, int column) {
  return static_cast<int32_t>(result.Int(row, column));
}
std::string ToText(const Result& result, int row, int column) {
  return std::string(result.Text(row, column));
}

absl::StatusOr<StreamedProject> ToProject(const Result& result, int row) {
  StreamedProject record;
  ProjectRecord& p = record.project;
  p.id = ToInt(result, row, 0);
  record.seq = result.Int(row, 1);
  p.workspace = ToInt(result, row, 2);
  p.name = ToText(result, row, 3);
  p.key = ToText(result, row, 4);
  p.description = ToText(result, row, 5);
  p.owner = model::UserId(ToInt(result, row, 6));
  p.archived = result.Bool(row, 7);
  p.immutable = result.Bool(row, 8);
  DET_ASSIGN_OR_RETURN(p.state, ToWorkspaceState(result.Text(row, 9)));
  DET_ASSIGN_OR_RETURN(const model::Value notes, ToValue(result, row, 10));
  p.notes = ToNotes(notes);
  record.created_at = result.Time(row, 11);
  return record;
}

// Reads the last columns of models and of versions, from notes on.
template <class Record>
absl::Status ReadRest(const Result& result, int row, int column, Record* out) {
  out->notes = ToText(result, row, column++);
  DET_ASSIGN_OR_RETURN(out->metadata, ToValue(result, row, column++));
  DET_ASSIGN_OR_RETURN(out->labels, ToLabels(result, row, column++));
  out->owner = model::UserId(ToInt(result, row, column++));
  out->created_at = result.Time(row, column++);
  out->updated_at = result.Time(row, column++);
  return absl::OkStatus();
}

absl::StatusOr<StreamedModel> ToModel(const Result& result, int row) {
  StreamedModel record;
  ModelRecord& m = record.model;
  m.id = ToInt(result, row, 0);
  record.seq = result.Int(row, 1);
  m.workspace = ToInt(result, row, 2);
  m.name = ToText(result, row, 3);
  m.description = ToText(result, row, 4);
  m.archived = result.Bool(row, 5);
  DET_RETURN_IF_ERROR(ReadRest(result, row, 6, &m));
  return record;
}

absl::StatusOr<StreamedVersion> ToVersion(const Result& result, int row) {
  StreamedVersion record;
  ModelVersionRecord& v = record.version;
  v.id = ToInt(result, row, 0);
  record.seq = result.Int(row, 1);
  record.workspace = ToInt(result, row, 2);
  v.model = ToInt(result, row, 3);
  v.version = ToInt(result, row, 4);
  v.checkpoint = model::CheckpointId(ToText(result, row, 5));
  v.name = ToText(result, row, 6);
  v.comment = ToText(result, row, 7);
  DET_RETURN_IF_ERROR(ReadRest(result, row, 8, &v));
  return record;
}

template <class Record>
absl::StatusOr<std::vector<Record>> Read(Pool& pool, const char* sql,
                                         const std::vector<int32_t>& ids,
                                         absl::StatusOr<Record> (*convert)(const Result&, int)) {
  return pool.Run([&](Connection& connection) -> absl::StatusOr<std::vector<Record>> {
    DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(sql, {ToArray(ids)}));
    std::vector<Record> records;
    for (int row = 0; row < result.rows(); ++row) {
      DET_ASSIGN_OR_RETURN(records.emplace_back(), convert(result, row));
    }
    return records;
  });
}

}  // namespace

absl::StatusOr<int64_t> SqlStreamedRecords::GetLastChange() {
  return pool_.Run([](Connection& connection) -> absl::StatusOr<int64_t> {
    DET_ASSIGN_OR_RETURN(const Result result,
                         connection.Exec("SELECT number FROM streamed_changes"));
    return result.Int(0, 0);
  });
}

absl::StatusOr<std::map<int32_t, int64_t>> SqlStreamedRecords::ListSeqs(
    const StreamedQuery& query) {
  using Seqs = std::map<int32_t, int64_t>;
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<Seqs> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec(
            absl::StrCat("SELECT r.id, r.seq FROM ", GetSources(query.kind), kMatches),
            {ToArray(query.ids), ToArray(query.workspaces), ToArray(query.models),
             ToArray(query.owners), query.visible ? ToArray(*query.visible) : Param{}}));
    Seqs seqs;
    for (int row = 0; row < result.rows(); ++row) {
      seqs.emplace(ToInt(result, row, 0), result.Int(row, 1));
    }
    return seqs;
  });
}

absl::StatusOr<std::vector<StreamedProject>> SqlStreamedRecords::ReadProjects(
    const std::vector<int32_t>& ids) {
  return Read(pool_, kProjects, ids, &ToProject);
}

absl::StatusOr<std::vector<StreamedModel>> SqlStreamedRecords::ReadModels(
    const std::vector<int32_t>& ids) {
  return Read(pool_, kModels, ids, &ToModel);
}

absl::StatusOr<std::vector<StreamedVersion>> SqlStreamedRecords::ReadVersions(
    const std::vector<int32_t>& ids) {
  return Read(pool_, kVersions, ids, &ToVersion);
}

}  // namespace det::store
