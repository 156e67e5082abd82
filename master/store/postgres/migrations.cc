#include "master/store/postgres/migrations.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "master/store/postgres/params.h"

namespace det::store {
namespace {

constexpr char kMakeTable[] = R"sql(
CREATE TABLE IF NOT EXISTS schema_migrations (
  number     int PRIMARY KEY,
  name       text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
))sql";

absl::StatusOr<int64_t> NewestApplied(Connection& connection) {
  DET_ASSIGN_OR_RETURN(const Result result,
                       connection.Exec("SELECT coalesce(max(number), 0) FROM schema_migrations"));
  return result.Int(0, 0);
}

absl::Status Apply(Connection& connection, const Migration& migration) {
  DET_RETURN_IF_ERROR(connection.ExecScript("BEGIN"));
  absl::Status status = connection.ExecScript(migration.sql);
  if (status.ok()) {
    status = connection
                 .Exec("INSERT INTO schema_migrations (number, name) VALUES ($1, $2)",
                       MakeParams(migration.number, migration.name))
                 .status();
  }
  if (status.ok()) return connection.ExecScript("COMMIT");
  (void)connection.ExecScript("ROLLBACK");
  return absl::Status(status.code(), absl::StrCat("cannot apply migration ", migration.number, " (",
                                                  migration.name, "): ", status.message()));
}

absl::Status ApplyAll(Connection& connection, const std::vector<Migration>& migrations) {
  DET_RETURN_IF_ERROR(connection.ExecScript(kMakeTable));
  DET_ASSIGN_OR_RETURN(const int64_t applied, NewestApplied(connection));
  for (const Migration& migration : migrations) {
    if (migration.number <= applied) continue;
    DET_RETURN_IF_ERROR(Apply(connection, migration));
    DET_LOG(INFO) << "database migrated" << base::Field("number", migration.number)
                  << base::Field("name", migration.name);
  }
  const int known = migrations.empty() ? 0 : migrations.back().number;
  if (applied <= known) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the database was changed by a newer master (migration ", applied,
                   ", this one knows ", known, "); install that version or use another database"));
}

}  // namespace

absl::Status Migrate(Connection& connection, const std::vector<Migration>& migrations) {
  DET_RETURN_IF_ERROR(connection.ExecScript("SELECT pg_advisory_lock(7241900302)"));
  const absl::Status status = ApplyAll(connection, migrations);
  const absl::Status unlocked = connection.ExecScript("SELECT pg_advisory_unlock(7241900302)");
  return status.ok() ? unlocked : status;
}

}  // namespace det::store
