#include "master/store/postgres/migrations.h"

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/installation.h"
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
);
ALTER TABLE schema_migrations ADD COLUMN IF NOT EXISTS version text NOT NULL DEFAULT '')sql";

// The newest applied migration.
struct Newest {
  int64_t number = 0;
  std::string name;
  std::string version;  // version of the master that applied it; empty for old versions
};

absl::StatusOr<Newest> FindNewest(Connection& connection) {
  DET_ASSIGN_OR_RETURN(const Result result,
                       connection.Exec("SELECT number, name, version FROM schema_migrations "
                                       "ORDER BY number DESC LIMIT 1"));
  if (result.rows() == 0) return Newest();
  return Newest{result.Int(0, 0), std::string(result.Text(0, 1)), std::string(result.Text(0, 2))};
}

absl::Status Apply(Connection& connection, const Migration& migration) {
  absl::Status status = connection.ExecScript(migration.sql);
  if (status.ok()) {
    status = connection
                 .Exec("INSERT INTO schema_migrations (number, name, version) VALUES ($1, $2, $3)",
                       MakeParams(migration.number, migration.name, base::kVersion))
                 .status();
  }
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("cannot apply migration ", migration.number, " (",
                                                  migration.name, "): ", status.message()));
}

absl::Status ApplyAll(Connection& connection, const std::vector<const Migration*>& pending) {
  DET_RETURN_IF_ERROR(connection.ExecScript("BEGIN"));
  for (const Migration* migration : pending) {
    const absl::Status applied = Apply(connection, *migration);
    if (applied.ok()) continue;
    if (connection.alive()) (void)connection.ExecScript("ROLLBACK");
    return applied;
  }
  return connection.ExecScript("COMMIT");
}

absl::Status RejectNewer(const Newest& newest, int known) {
  return absl::FailedPreconditionError(absl::StrCat(
      "the database was changed by a newer master (version ",
      newest.version.empty() ? "unknown" : newest.version, ", migration ", newest.number, " ",
      newest.name, "; this one is ", base::kVersion, " and knows ", known, "); install ",
      newest.version.empty() ? "that version" : newest.version, " or use another database"));
}

absl::Status ApplyPending(Connection& connection, const std::vector<Migration>& migrations) {
  DET_RETURN_IF_ERROR(connection.ExecScript(kMakeTable));
  DET_ASSIGN_OR_RETURN(const Newest newest, FindNewest(connection));
  const int known = migrations.empty() ? 0 : migrations.back().number;
  if (newest.number > known) return RejectNewer(newest, known);
  std::vector<const Migration*> pending;
  for (const Migration& migration : migrations) {
    if (migration.number > newest.number) pending.push_back(&migration);
  }
  if (pending.empty()) return absl::OkStatus();
  DET_RETURN_IF_ERROR(ApplyAll(connection, pending));
  DET_LOG(INFO) << "database migrated" << base::Field("from", newest.number)
                << base::Field("to", known)
                << base::Field("steps", absl::StrJoin(pending, ", ",
                                                      [](std::string* out, const Migration* each) {
                                                        absl::StrAppend(out, each->name);
                                                      }));
  return absl::OkStatus();
}

}  // namespace

absl::Status Migrate(Connection& connection, const std::vector<Migration>& migrations) {
  DET_RETURN_IF_ERROR(connection.ExecScript("SELECT pg_advisory_lock(7241900302)"));
  const absl::Status status = ApplyPending(connection, migrations);
  const absl::Status unlocked = connection.ExecScript("SELECT pg_advisory_unlock(7241900302)");
  return status.ok() ? unlocked : status;
}

}  // namespace det::store
