#include "master/store/postgres/fence.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "master/store/postgres/params.h"

namespace det::store {
namespace {

constexpr char kHoldEpoch[] = "SELECT hold_epoch($1)";
constexpr char kFencedMessage[] = "another master has taken over this database";

}  // namespace

void Fence::OnFenced(absl::AnyInvocable<void(absl::Status)> fenced) {
  std::lock_guard lock(mutex_);
  fenced_ = std::move(fenced);
}

absl::Status Fence::ReportFenced() {
  absl::AnyInvocable<void(absl::Status)> fenced;
  {
    std::lock_guard lock(mutex_);
    fenced = std::exchange(fenced_, nullptr);
  }
  const absl::Status over = absl::AbortedError(absl::StrCat(kFencedMessage, "; stop this one"));
  if (fenced) fenced(over);
  return over;
}

absl::Status Fence::CheckEpoch(const Connection& connection, absl::Status status) {
  if (status.ok() || connection.sqlstate() != kFencedState) return status;
  ReportFenced().IgnoreError();
  return absl::UnavailableError(absl::StrCat(kFencedMessage, "; send requests to that one"));
}

absl::Status Fence::Write(Pool& pool, std::vector<Connection::Statement> statements) {
  if (epoch() != 0) statements.insert(statements.begin(), {kHoldEpoch, MakeParams(epoch())});
  statements.push_back({kRecordWriteId, {}});
  UnknownCommit unknown;
  return RunOnce(pool, unknown, [&](Connection& connection) -> absl::Status {
    DET_ASSIGN_OR_RETURN(const bool made, ResolveUnknown(connection, unknown));
    if (made) return absl::OkStatus();
    DET_ASSIGN_OR_RETURN(Connection::WriteId write_id, connection.NextWriteId());
    statements.back().params = MakeParams(write_id.writer, write_id.number);
    bool is_unknown = false;
    absl::Status done = connection.ExecAll(statements, &is_unknown);
    if (is_unknown) unknown = std::move(write_id);
    return CheckEpoch(connection, std::move(done));
  });
}

absl::StatusOr<bool> Fence::ResolveUnknown(Connection& connection, UnknownCommit& unknown) {
  if (!unknown) return false;
  DET_ASSIGN_OR_RETURN(const bool made, WasCommitted(connection, *unknown));
  unknown.reset();
  return made;
}

void Fence::Pause() { absl::SleepFor(absl::Milliseconds(250)); }

absl::Status Fence::Begin(Connection& connection, const char* hold,
                          const Connection::WriteId& write_id) {
  DET_RETURN_IF_ERROR(connection.ExecScript("BEGIN"));
  const absl::StatusOr<Result> begun =
      epoch() == 0 ? connection.Exec(kRecordWriteId, MakeParams(write_id.writer, write_id.number))
                   : connection.Exec(hold, MakeParams(write_id.writer, write_id.number, epoch()));
  if (begun.ok()) return absl::OkStatus();
  absl::Status judged = CheckEpoch(connection, begun.status());
  if (connection.alive()) (void)connection.ExecScript("ROLLBACK");
  return judged;
}

absl::Status Fence::End(Connection& connection, bool commit) {
  if (commit) return connection.ExecScript("COMMIT");
  if (connection.alive()) (void)connection.ExecScript("ROLLBACK");
  return absl::OkStatus();
}

}  // namespace det::store
