#include "master/store/postgres/sql_templates.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/workspace_rows.h"

namespace det::store {
namespace {

// Keeps an existing row, and returns the stored row in both cases.
constexpr char kTemplateAdd[] = R"sql(
INSERT INTO templates (name, yaml, workspace) VALUES ($1, $2, $3)
ON CONFLICT (name) DO UPDATE SET yaml = templates.yaml RETURNING name, yaml, workspace)sql";
constexpr char kTemplatePut[] =
    "INSERT INTO templates (name, yaml, workspace) VALUES ($1, $2, $3) "
    "ON CONFLICT (name) DO UPDATE SET yaml = excluded.yaml, workspace = excluded.workspace "
    "WHERE templates.workspace IN ($4, excluded.workspace) RETURNING name";
constexpr char kReplace[] =
    "UPDATE templates SET yaml = $2 WHERE name = $1 AND workspace = $3 RETURNING name";
// Locks the rows of both names, if they exist, until the transaction ends.
constexpr char kLockNames[] =
    "SELECT name, workspace FROM templates WHERE name IN ($1, $2) FOR UPDATE";
constexpr char kRename[] = "UPDATE templates SET name = $2 WHERE name = $1";

TemplateRecord ToTemplate(const Result& result, int row) {
  return {.name = std::string(result.Text(row, 0)),
          .yaml = std::string(result.Text(row, 1)),
          .workspace = static_cast<int32_t>(result.Int(row, 2))};
}

Params MakeQueryParams(const TemplateRecord& record) {
  return MakeParams(record.name, record.yaml, record.workspace);
}

}  // namespace

absl::StatusOr<std::vector<TemplateRecord>> SqlTemplates::ListTemplates() {
  return pool_.Run([](Connection& connection) -> absl::StatusOr<std::vector<TemplateRecord>> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec("SELECT name, yaml, workspace FROM templates ORDER BY name"));
    std::vector<TemplateRecord> all;
    for (int row = 0; row < result.rows(); ++row) all.push_back(ToTemplate(result, row));
    return all;
  });
}

absl::StatusOr<TemplateRecord> SqlTemplates::GetTemplate(const std::string& name) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<TemplateRecord> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec("SELECT name, yaml, workspace FROM templates WHERE name = $1",
                        MakeParams(name)));
    if (result.rows() == 0) return NoSuchTemplate(name);
    return ToTemplate(result, 0);
  });
}

absl::Status SqlTemplates::AddTemplate(const TemplateRecord& record) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_RETURN_IF_ERROR(LockOpen(connection, record.workspace));
    DET_ASSIGN_OR_RETURN(const Result result,
                         connection.Exec(kTemplateAdd, MakeQueryParams(record)));
    return ToTemplate(result, 0) == record ? absl::OkStatus() : TemplateExists(record.name);
  });
}

absl::Status SqlTemplates::PutTemplate(const TemplateRecord& record, int32_t from) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_RETURN_IF_ERROR(LockOpen(connection, record.workspace));
    DET_ASSIGN_OR_RETURN(const Result put,
                         connection.Exec(kTemplatePut, MakeParams(record.name, record.yaml,
                                                                  record.workspace, from)));
    return put.rows() > 0 ? absl::OkStatus() : TemplateExists(record.name);
  });
}

absl::Status SqlTemplates::ReplaceTemplate(const TemplateRecord& record) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_RETURN_IF_ERROR(LockOpen(connection, record.workspace));
    DET_ASSIGN_OR_RETURN(const Result put, connection.Exec(kReplace, MakeQueryParams(record)));
    return put.rows() > 0 ? absl::OkStatus() : NoSuchTemplate(record.name);
  });
}

absl::Status SqlTemplates::RenameTemplate(const std::string& name, int32_t in,
                                          const std::string& to) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_ASSIGN_OR_RETURN(const Result state, connection.Exec(kLockNames, MakeParams(name, to)));
    bool known = false, taken = false;
    for (int row = 0; row < state.rows(); ++row) {
      if (state.Text(row, 0) != name) taken = true;
      if (state.Text(row, 0) == name && state.Int(row, 1) == in) known = true;
    }
    if (!known) return NoSuchTemplate(name);
    if (taken) return TemplateExists(to);
    return connection.Exec(kRename, MakeParams(name, to)).status();
  });
}

absl::Status SqlTemplates::DeleteTemplate(const std::string& name, int32_t in) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec("DELETE FROM templates WHERE name = $1 AND workspace = $2 RETURNING name",
                        MakeParams(name, in)));
    return result.rows() > 0 ? absl::OkStatus() : NoSuchTemplate(name);
  });
}

}  // namespace det::store
