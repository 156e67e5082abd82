// Fencing: keeps a master that was replaced from writing. Each write checks the epoch in its own
// transaction: commits with the SQL function fence(), all other writes with this class.
//
// Any thread. Does not check reads.
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
#include "master/store/interfaces/unknown_commit.h"
#include "master/store/postgres/connection.h"
#include "master/store/postgres/pool.h"

namespace det::store {

inline constexpr char kFencedState[] = "RS001";  // the SQLSTATE of a write with an old epoch

class Fence {
 public:
  // 0: not loaded; then the epoch is not checked.
  int64_t epoch() const { return epoch_; }
  void Set(int64_t epoch) { epoch_ = epoch; }

  // `fenced` is called once, on the thread of the first write that finds a newer epoch.
  void OnFenced(absl::AnyInvocable<void(absl::Status)> fenced);

  // Calls `fenced` and returns ABORTED.
  absl::Status ReportFenced();

  // Executes the statements exactly once, in one transaction that checks the epoch. If the response
  // to the commit is lost, queries the database for the transaction's WriteId. UNAVAILABLE if the
  // epoch is old: the caller may retry and will reach the new leader.
  absl::Status Write(Pool& pool, std::vector<Connection::Statement> statements);

  // Same as above, for `work(Connection&)`, which reads the results of its statements.
  template <class Work>
  auto Run(Pool& pool, const Work& work) -> decltype(work(std::declval<Connection&>())) {
    return Run(pool, work, "SELECT hold_epoch($3), mark($1, $2)");
  }
  // Same as above, between two batches: sees all changes of earlier batches, and later batches see
  // its changes. Batches wait for it, so it must be short.
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
    std::optional<Response> response;  // the response to the write whose outcome is unknown
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
  // The ID of a write whose connection broke after its commit was sent.
  using UnknownCommit = std::optional<Connection::WriteId>;
  // Returns whether the unknown write was committed, and resets `unknown`; false if it is unset.
  static absl::StatusOr<bool> ResolveUnknown(Connection& connection, UnknownCommit& unknown);
  // Like Pool::Run, and retries while the outcome of `attempt` is unknown, for as long as a server
  // takes to restart. After that returns UnknownCommitError (interfaces/unknown_commit.h).
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
  static constexpr int kMaxAttempts = 40;  // a quarter of a second apart
  static void Pause();
  static const absl::Status& GetStatus(const absl::Status& status) { return status; }
  template <class Value>
  static const absl::Status& GetStatus(const absl::StatusOr<Value>& result) {
    return result.status();
  }
  absl::Status Begin(Connection& connection, const char* hold, const Connection::WriteId& write_id);
  absl::Status End(Connection& connection, bool commit);
  // Returns `status`, or the error of a fenced master.
  absl::Status CheckEpoch(const Connection& connection, absl::Status status);

  std::atomic<int64_t> epoch_ = 0;
  std::mutex mutex_;
  absl::AnyInvocable<void(absl::Status)> fenced_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_FENCE_H_
