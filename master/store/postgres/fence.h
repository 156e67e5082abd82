// What keeps a master whose epoch is over from writing: each of its writes holds the epoch in its
// own transaction. Commits do so by the function fence() of the database, all others by this.
//
// Any thread. Never judges reads.
#ifndef MASTER_STORE_POSTGRES_FENCE_H_
#define MASTER_STORE_POSTGRES_FENCE_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "master/store/interfaces/is_unknown.h"
#include "master/store/postgres/connection.h"
#include "master/store/postgres/pool.h"

namespace det::store {

inline constexpr char kFencedState[] = "RS001";  // the SQLSTATE of an epoch that is over

class Fence {
 public:
  // 0: not loaded; then nothing is held, as there is nobody yet to be fenced off.
  int64_t epoch() const { return epoch_; }
  void Set(int64_t epoch) { epoch_ = epoch; }

  // `fenced` is called once, on the thread of the first write that finds the epoch over.
  void OnFenced(absl::AnyInvocable<void(absl::Status)> fenced);

  // ABORTED; tells whoever listens.
  absl::Status ReportFenced();

  // The statements in one transaction that holds the epoch, committed once, also when the response to its
  // commit is lost: it is marked, and the database is asked for the write_id. UNAVAILABLE when the
  // epoch is over: the caller may ask again, and will find the master that leads.
  absl::Status Write(Pool& pool, std::vector<Connection::Statement> statements);

  // The same for a `work(Connection&)` that looks at the answers of its statements.
  template <class Work>
  auto Run(Pool& pool, const Work& work) -> decltype(work(std::declval<Connection&>())) {
    return Run(pool, work, "SELECT hold_epoch($3), mark($1, $2)");
  }
  // The same between two batches: sees all that those before it changed, those after it see it.
  // They wait for it, so it must be short.
  template <class Work>
  auto RunBetweenBatches(Pool& pool, const Work& work)
      -> decltype(work(std::declval<Connection&>())) {
    return Run(pool, work, "SELECT hold_batches($3), mark($1, $2)");
  }

 private:
  template <class Work>
  auto Run(Pool& pool, const Work& work, const char* hold)
      -> decltype(work(std::declval<Connection&>())) {
    using Response = decltype(work(std::declval<Connection&>()));
    UnknownCommit unknown;
    std::optional<Response> response;  // of what is in unknown
    return RunOnce(pool, unknown, [&](Connection& connection) -> Response {
      DET_ASSIGN_OR_RETURN(const bool committed, ResolveUnknown(connection, unknown));
      if (committed) return *std::move(response);
      DET_ASSIGN_OR_RETURN(Connection::WriteId write_id, connection.NextWriteId());
      DET_RETURN_IF_ERROR(Begin(connection, hold, write_id));
      response.emplace(work(connection));
      const bool good = response->ok();
      const absl::Status ended = End(connection, good);
      if (good && !ended.ok() && !connection.alive()) unknown = std::move(write_id);
      DET_RETURN_IF_ERROR(ended);
      return *std::move(response);
    });
  }
  // Of a write whose commit was sent on a connection that broke.
  using UnknownCommit = std::optional<Connection::WriteId>;
  // Whether it was committed; false without one. From then on it is in unknown no more.
  static absl::StatusOr<bool> ResolveUnknown(Connection& connection, UnknownCommit& unknown);
  // As the pool does, and again while `attempt` leaves in unknown whether it was committed. A server that
  // restarts is waited for, as long as a restart takes; past that the status says that it is in
  // unknown (store/is_unknown.h).
  template <class Attempt>
  static auto RunOnce(Pool& pool, const UnknownCommit& unknown, const Attempt& attempt)
      -> decltype(attempt(std::declval<Connection&>())) {
    auto result = pool.Run(attempt);
    for (int tries = 0; unknown; ++tries) {
      if (tries == kMaxAttempts) return UnknownCommitError(GetStatus(result));
      if (tries > 0) Pause();
      result = pool.Run(attempt);
    }
    return result;
  }
  static constexpr int kMaxAttempts = 40;  // Pauses of a quarter of a second lie between them.
  static void Pause();
  static const absl::Status& GetStatus(const absl::Status& status) { return status; }
  template <class Value>
  static const absl::Status& GetStatus(const absl::StatusOr<Value>& result) {
    return result.status();
  }
  absl::Status Begin(Connection& connection, const char* hold, const Connection::WriteId& write_id);
  absl::Status End(Connection& connection, bool commit);
  // `status`, unless the epoch is over.
  absl::Status CheckEpoch(const Connection& connection, absl::Status status);

  std::atomic<int64_t> epoch_ = 0;
  std::mutex mutex_;
  absl::AnyInvocable<void(absl::Status)> fenced_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_FENCE_H_
