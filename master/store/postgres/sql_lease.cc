#include "master/store/postgres/sql_lease.h"

#include "base/status_macros.h"
#include "master/store/postgres/params.h"

namespace det::store {
namespace {

constexpr char kNoSuchTable[] = "42P01";

// Uses JSON, because the columns may not exist yet.
constexpr char kRead[] =
    "SELECT f.epoch, (to_json(f)->>'renewals')::bigint, coalesce(to_json(f)->>'leader', '') "
    "FROM fencing f";
constexpr char kEndHolders[] = R"sql(
SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE l.locktype = 'relation' AND l.relation = 'fencing'::regclass
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND l.granted AND l.mode IN ('RowShareLock', 'RowExclusiveLock')
  AND a.usename = current_user AND l.pid <> pg_backend_pid())sql";
constexpr char kLock[] = "SELECT epoch FROM fencing FOR UPDATE";
constexpr char kClaim[] =
    "UPDATE fencing SET epoch = epoch + 1, commit_seq = 0, leader = '', "
    "renewals = coalesce(renewals, 0) + 1 WHERE epoch = coalesce($1, epoch) RETURNING epoch";
constexpr char kRenew[] =
    "UPDATE fencing SET renewals = coalesce(renewals, 0) + 1, leader = $2 WHERE epoch = $1 "
    "RETURNING epoch";

}  // namespace

absl::StatusOr<LeaseRecord> ReadLease(Connection& connection) {
  const absl::StatusOr<Result> result = connection.Exec(kRead);
  if (!result.ok() && connection.sqlstate() == kNoSuchTable) return LeaseRecord();
  DET_RETURN_IF_ERROR(result.status());
  return LeaseRecord{.epoch = result->Int(0, 0),
                     .renewals = result->Maybe(&Result::Int, 0, 1),
                     .leader = std::string(result->Text(0, 2))};
}

absl::Status SeizeFencing(Connection& connection) {
  DET_RETURN_IF_ERROR(connection.Exec(kEndHolders).status());
  return connection.Exec(kLock).status();
}

absl::StatusOr<bool> ClaimLease(Connection& connection, std::optional<int64_t> expected) {
  DET_RETURN_IF_ERROR(connection.ExecScript("BEGIN"));
  const absl::StatusOr<bool> claimed = [&]() -> absl::StatusOr<bool> {
    DET_RETURN_IF_ERROR(SeizeFencing(connection));
    DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(kClaim, MakeParams(expected)));
    return result.rows() > 0;
  }();
  const absl::Status ended = connection.ExecScript(claimed.ok() ? "COMMIT" : "ROLLBACK");
  if (claimed.ok() && !ended.ok()) return ended;
  return claimed;
}

absl::StatusOr<bool> RenewLease(Connection& connection, int64_t epoch, const std::string& leader) {
  DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(kRenew, MakeParams(epoch, leader)));
  return result.rows() > 0;
}

}  // namespace det::store
