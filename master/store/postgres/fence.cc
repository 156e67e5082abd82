#include "master/store/postgres/fence.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "master/store/postgres/params.h"

namespace det::store {
namespace {

constexpr char kHoldEpoch[] = "SELECT hold_epoch($1)";
constexpr char kTransaction[] = "SELECT pg_current_xact_id()::text";
constexpr char kOver[] = "another master has taken over this database";

}  // namespace

void Fence::OnFenced(absl::AnyInvocable<void(absl::Status)> fenced) {
  std::lock_guard lock(mutex_);
  fenced_ = std::move(fenced);
}

absl::Status Fence::Over() {
  absl::AnyInvocable<void(absl::Status)> fenced;
  {
    std::lock_guard lock(mutex_);
    fenced = std::exchange(fenced_, nullptr);
  }
  const absl::Status over = absl::AbortedError(absl::StrCat(kOver, "; end this one"));
  if (fenced) fenced(over);
  return over;
}

absl::Status Fence::Judge(const Connection& connection, absl::Status status) {
  if (status.ok() || connection.sqlstate() != kOtherMaster) return status;
  Over().IgnoreError();
  return absl::UnavailableError(absl::StrCat(kOver, "; ask that one"));
}

absl::Status Fence::Write(Pool& pool, std::vector<Connection::Statement> statements) {
  if (epoch() != 0) {
    statements.insert(statements.begin(), {kHoldEpoch, MakeParams(epoch())});
  }
  std::string in_doubt;
  return RunOnce(pool, in_doubt, [&](Connection& connection) -> absl::Status {
    if (!in_doubt.empty()) {
      DET_ASSIGN_OR_RETURN(const bool committed, WasCommitted(connection, in_doubt));
      in_doubt.clear();
      if (committed) return absl::OkStatus();
    }
    return Judge(connection, connection.ExecAll(statements, &in_doubt));
  });
}

void Fence::Pause() { absl::SleepFor(absl::Milliseconds(250)); }

absl::StatusOr<std::string> Fence::Begin(Connection& connection, const char* hold) {
  DET_RETURN_IF_ERROR(connection.ExecScript("BEGIN"));
  if (epoch() == 0) {
    DET_ASSIGN_OR_RETURN(const Result begun, connection.Exec(kTransaction));
    return std::string(begun.Text(0, 0));
  }
  const absl::StatusOr<Result> held = connection.Exec(hold, MakeParams(epoch()));
  if (held.ok()) return std::string(held->Text(0, 1));
  absl::Status judged = Judge(connection, held.status());
  if (connection.alive()) (void)connection.ExecScript("ROLLBACK");
  return judged;
}

absl::Status Fence::End(Connection& connection, bool commit) {
  if (commit) return connection.ExecScript("COMMIT");
  if (connection.alive()) (void)connection.ExecScript("ROLLBACK");
  return absl::OkStatus();
}

}  // namespace det::store
