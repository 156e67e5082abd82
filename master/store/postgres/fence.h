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
#include "master/store/interfaces/in_doubt.h"
#include "master/store/postgres/connection.h"
#include "master/store/postgres/pool.h"

namespace det::store {

inline constexpr char kOtherMaster[] = "RS001";  // the SQLSTATE of an epoch that is over

class Fence {
 public:
  // 0: not loaded; then nothing is held, as there is nobody yet to be fenced off.
  int64_t epoch() const { return epoch_; }
  void Set(int64_t epoch) { epoch_ = epoch; }

  // `fenced` is called once, on the thread of the first write that finds the epoch over.
  void OnFenced(absl::AnyInvocable<void(absl::Status)> fenced);

  // ABORTED; tells whoever listens.
  absl::Status Over();

  // The statements in one transaction that holds the epoch, made once, also when the answer to its
  // commit is lost: it is marked, and the database is asked for the mark. UNAVAILABLE when the
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
    using Answer = decltype(work(std::declval<Connection&>()));
    Doubt doubt;
    std::optional<Answer> answer;  // of what is in doubt
    return RunOnce(pool, doubt, [&](Connection& connection) -> Answer {
      DET_ASSIGN_OR_RETURN(const bool made, Settle(connection, doubt));
      if (made) return *std::move(answer);
      DET_ASSIGN_OR_RETURN(Connection::Mark mark, connection.NextMark());
      DET_RETURN_IF_ERROR(Begin(connection, hold, mark));
      answer.emplace(work(connection));
      const bool good = answer->ok();
      const absl::Status ended = End(connection, good);
      if (good && !ended.ok() && !connection.alive()) doubt = std::move(mark);
      DET_RETURN_IF_ERROR(ended);
      return *std::move(answer);
    });
  }
  // Of a write whose commit was sent on a connection that broke.
  using Doubt = std::optional<Connection::Mark>;
  // Whether it was made; false without one. From then on it is in doubt no more.
  static absl::StatusOr<bool> Settle(Connection& connection, Doubt& doubt);
  // As the pool does, and again while `attempt` leaves in doubt whether it was made. A server that
  // restarts is waited for, as long as a restart takes; past that the status says that it is in
  // doubt (store/in_doubt.h).
  template <class Attempt>
  static auto RunOnce(Pool& pool, const Doubt& doubt, const Attempt& attempt)
      -> decltype(attempt(std::declval<Connection&>())) {
    auto result = pool.Run(attempt);
    for (int tries = 0; doubt; ++tries) {
      if (tries == kTries) return InDoubt(StatusOf(result));
      if (tries > 0) Pause();
      result = pool.Run(attempt);
    }
    return result;
  }
  static constexpr int kTries = 40;  // Pauses of a quarter of a second lie between them.
  static void Pause();
  static const absl::Status& StatusOf(const absl::Status& status) { return status; }
  template <class Value>
  static const absl::Status& StatusOf(const absl::StatusOr<Value>& result) {
    return result.status();
  }
  absl::Status Begin(Connection& connection, const char* hold, const Connection::Mark& mark);
  absl::Status End(Connection& connection, bool commit);
  // `status`, unless the epoch is over.
  absl::Status Judge(const Connection& connection, absl::Status status);

  std::atomic<int64_t> epoch_ = 0;
  std::mutex mutex_;
  absl::AnyInvocable<void(absl::Status)> fenced_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_FENCE_H_
