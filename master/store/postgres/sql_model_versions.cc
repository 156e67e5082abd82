// SqlModels: versions.
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/store/postgres/model_rows.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/query.h"
#include "master/store/postgres/rows.h"
#include "master/store/postgres/sql_models.h"

namespace det::store {
namespace {

constexpr char kSelect[] = R"sql(
SELECT v.id, v.model, v.version, v.checkpoint, v.name, v.comment, v.notes, v.metadata, v.labels,
  v.owner, coalesce(u.username, ''), micros(v.created_at), micros(v.updated_at)
FROM model_versions v LEFT JOIN users u ON u.id = v.owner WHERE v.model = $1)sql";
constexpr char kNextNumber[] =
    "UPDATE models SET last_number = last_number + 1, updated_at = $2 WHERE id = $1 "
    "RETURNING last_number";
constexpr char kVersionAdd[] = R"sql(
INSERT INTO model_versions (model, version, checkpoint, name, comment, notes, metadata, labels,
  owner, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7::json, $8::jsonb, $9, $10, $10))sql";
constexpr char kVersionChange[] = R"sql(
UPDATE model_versions SET name = coalesce($3, name), comment = coalesce($4, comment),
  notes = coalesce($5, notes), metadata = coalesce($6::json, metadata),
  labels = coalesce($7::jsonb, labels), updated_at = $8
WHERE model = $1 AND version = $2 RETURNING id)sql";
constexpr char kVersionDelete[] =
    "DELETE FROM model_versions WHERE model = $1 AND version = $2 RETURNING id";
constexpr char kHolders[] = R"sql(
SELECT m.name, v.version FROM model_versions v JOIN models m ON m.id = v.model
JOIN checkpoints c ON c.id = v.checkpoint JOIN trials t ON t.id = c.trial
WHERE t.experiment = $1 ORDER BY m.name, v.version)sql";

absl::StatusOr<ModelVersionRecord> ToVersion(const Result& result, int row) {
  ModelVersionRecord v;
  v.id = static_cast<int32_t>(result.Int(row, 0));
  v.model = static_cast<int32_t>(result.Int(row, 1));
  v.version = static_cast<int32_t>(result.Int(row, 2));
  v.checkpoint = model::CheckpointId(std::string(result.Text(row, 3)));
  v.name = std::string(result.Text(row, 4));
  v.comment = std::string(result.Text(row, 5));
  v.notes = std::string(result.Text(row, 6));
  DET_ASSIGN_OR_RETURN(v.metadata, ToValue(result, row, 7));
  DET_ASSIGN_OR_RETURN(v.labels, ToLabels(result, row, 8));
  v.owner = model::UserId(static_cast<int32_t>(result.Int(row, 9)));
  v.owner_name = std::string(result.Text(row, 10));
  v.created_at = result.Time(row, 11);
  v.updated_at = result.Time(row, 12);
  return v;
}

// Returns why there is no version with this number.
absl::Status VersionNotFound(Connection& connection, int32_t model, int32_t version) {
  DET_ASSIGN_OR_RETURN(const Result row,
                       connection.Exec("SELECT name FROM models WHERE id = $1", MakeParams(model)));
  if (row.rows() == 0) return NoSuchModel(absl::StrCat(model));
  return NoSuchVersion(std::string(row.Text(0, 0)), version);
}

absl::StatusOr<ModelVersionRecord> ReadVersion(Connection& connection, int32_t model,
                                               int32_t version) {
  DET_ASSIGN_OR_RETURN(
      const Result result,
      connection.Exec(absl::StrCat(kSelect, " AND v.version = $2"), MakeParams(model, version)));
  if (result.rows() == 0) return VersionNotFound(connection, model, version);
  return ToVersion(result, 0);
}

absl::Status CheckCompleted(Connection& connection, const model::CheckpointId& id) {
  DET_ASSIGN_OR_RETURN(
      const Result row,
      connection.Exec("SELECT state FROM checkpoints WHERE id = $1", MakeParams(id)));
  if (row.rows() == 0) return NoSuchCheckpointToHold(id);
  const auto state = model::ParseCheckpointState(row.Text(0, 0));
  if (!state) {
    return absl::InternalError(absl::StrCat("the database contains the unknown state ",
                                            std::string(row.Text(0, 0)), " of checkpoint ",
                                            id.value()));
  }
  return *state == model::CheckpointState::kCompleted ? absl::OkStatus() : NotCompleted(id, *state);
}

}  // namespace

absl::StatusOr<ModelVersionRecord> SqlModels::GetVersion(int32_t model, int32_t version) {
  return pool_.Run([&](Connection& connection) { return ReadVersion(connection, model, version); });
}

absl::StatusOr<ModelVersionPage> SqlModels::ListVersions(int32_t model,
                                                         const ModelVersionQuery& query) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<ModelVersionPage> {
    DET_ASSIGN_OR_RETURN(
        const WindowRows window,
        ReadWindow(connection, "SELECT count(*) FROM model_versions WHERE model = $1",
                   absl::StrCat(kSelect, OrderBy(query.by_time ? "v.created_at" : "v.version",
                                                 "v.version", query.descending)),
                   MakeParams(model), query.window));
    ModelVersionPage page;
    page.total = window.total;
    for (int row = 0; row < window.rows.rows(); ++row) {
      DET_ASSIGN_OR_RETURN(page.versions.emplace_back(), ToVersion(window.rows, row));
    }
    return page;
  });
}

absl::StatusOr<ModelVersionRecord> SqlModels::AddVersion(const ModelVersionRecord& version) {
  const auto add = [&](Connection& connection) -> absl::StatusOr<ModelVersionRecord> {
    DET_RETURN_IF_ERROR(LockModel(connection, version.model, false).status());
    DET_RETURN_IF_ERROR(CheckCompleted(connection, version.checkpoint));
    DET_ASSIGN_OR_RETURN(
        const Result next,
        connection.Exec(kNextNumber, MakeParams(version.model, version.created_at)));
    const auto number = static_cast<int32_t>(next.Int(0, 0));
    DET_RETURN_IF_ERROR(
        connection
            .Exec(kVersionAdd,
                  {ToParam(version.model), ToParam(number), ToParam(version.checkpoint),
                   ToParam(version.name), ToParam(version.comment), ToParam(version.notes),
                   ToParam(version.metadata), LabelsParam(version.labels), ToParam(version.owner),
                   ToParam(version.created_at)})
            .status());
    return ReadVersion(connection, version.model, number);
  };
  return fence_.RunBetweenBatches(pool_, add);
}

absl::StatusOr<ModelVersionRecord> SqlModels::ChangeVersion(int32_t model, int32_t version,
                                                            const ModelVersionPatch& patch) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<ModelVersionRecord> {
    DET_RETURN_IF_ERROR(LockModel(connection, model, false).status());
    DET_ASSIGN_OR_RETURN(
        const Result changed,
        connection.Exec(kVersionChange,
                        {ToParam(model), ToParam(version), ToParam(patch.name),
                         ToParam(patch.comment), ToParam(patch.notes), ToParam(patch.metadata),
                         LabelsParam(patch.labels), ToParam(patch.at)}));
    if (changed.rows() == 0) return VersionNotFound(connection, model, version);
    return ReadVersion(connection, model, version);
  });
}

absl::Status SqlModels::DeleteVersion(int32_t model, int32_t version, absl::Time at) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_RETURN_IF_ERROR(LockModel(connection, model, true).status());
    DET_ASSIGN_OR_RETURN(const Result deleted,
                         connection.Exec(kVersionDelete, MakeParams(model, version)));
    if (deleted.rows() == 0) return VersionNotFound(connection, model, version);
    return connection.Exec("UPDATE models SET updated_at = $2 WHERE id = $1", MakeParams(model, at))
        .status();
  });
}

absl::StatusOr<std::vector<std::string>> SqlModels::ListHolders(model::ExperimentId id) {
  using Holders = std::vector<std::string>;
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<Holders> {
    DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(kHolders, MakeParams(id)));
    Holders holders;
    for (int row = 0; row < result.rows(); ++row) {
      holders.push_back(GetHolderName(std::string(result.Text(row, 0)),
                                      static_cast<int32_t>(result.Int(row, 1))));
    }
    return holders;
  });
}

}  // namespace det::store
