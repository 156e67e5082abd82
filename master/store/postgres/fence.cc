#include "master/store/postgres/fence.h"

#include "absl/strings/str_cat.h"
#include "master/store/postgres/params.h"

namespace det::store {
namespace {

constexpr char kHoldEpoch[] = "SELECT hold_epoch($1)";
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

absl::Status Fence::Write(Connection& connection, std::vector<Connection::Statement> statements) {
  if (epoch() != 0) {
    statements.insert(statements.begin(), {kHoldEpoch, MakeParams(epoch())});
  }
  return Judge(connection, connection.ExecAll(statements));
}

absl::Status Fence::Begin(Connection& connection, const char* hold) {
  DET_RETURN_IF_ERROR(connection.ExecScript("BEGIN"));
  if (epoch() == 0) return absl::OkStatus();
  const absl::Status held = connection.Exec(hold, MakeParams(epoch())).status();
  if (held.ok()) return held;
  absl::Status judged = Judge(connection, held);
  if (connection.alive()) (void)connection.ExecScript("ROLLBACK");
  return judged;
}

absl::Status Fence::End(Connection& connection, bool commit) {
  if (commit) return connection.ExecScript("COMMIT");
  if (connection.alive()) (void)connection.ExecScript("ROLLBACK");
  return absl::OkStatus();
}

}  // namespace det::store
