#include "master/store/postgres/fence.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
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

absl::Status Fence::Write(Pool& pool, std::vector<Connection::Statement> statements) {
  if (epoch() != 0) statements.insert(statements.begin(), {kHoldEpoch, MakeParams(epoch())});
  statements.push_back({kMark, {}});
  Doubt doubt;
  return RunOnce(pool, doubt, [&](Connection& connection) -> absl::Status {
    DET_ASSIGN_OR_RETURN(const bool made, Settle(connection, doubt));
    if (made) return absl::OkStatus();
    DET_ASSIGN_OR_RETURN(Connection::Mark mark, connection.NextMark());
    statements.back().params = MakeParams(mark.writer, mark.number);
    bool is_unknown = false;
    absl::Status done = connection.ExecAll(statements, &is_unknown);
    if (is_unknown) doubt = std::move(mark);
    return Judge(connection, std::move(done));
  });
}

absl::StatusOr<bool> Fence::Settle(Connection& connection, Doubt& doubt) {
  if (!doubt) return false;
  DET_ASSIGN_OR_RETURN(const bool made, WasMade(connection, *doubt));
  doubt.reset();
  return made;
}

void Fence::Pause() { absl::SleepFor(absl::Milliseconds(250)); }

absl::Status Fence::Begin(Connection& connection, const char* hold, const Connection::Mark& mark) {
  DET_RETURN_IF_ERROR(connection.ExecScript("BEGIN"));
  const absl::StatusOr<Result> begun =
      epoch() == 0 ? connection.Exec(kMark, MakeParams(mark.writer, mark.number))
                   : connection.Exec(hold, MakeParams(mark.writer, mark.number, epoch()));
  if (begun.ok()) return absl::OkStatus();
  absl::Status judged = Judge(connection, begun.status());
  if (connection.alive()) (void)connection.ExecScript("ROLLBACK");
  return judged;
}

absl::Status Fence::End(Connection& connection, bool commit) {
  if (commit) return connection.ExecScript("COMMIT");
  if (connection.alive()) (void)connection.ExecScript("ROLLBACK");
  return absl::OkStatus();
}

}  // namespace det::store
