// What keeps a master whose epoch is over from writing: each of its writes holds the epoch in its
// own transaction. Commits do so by the function fence() of the database, all others by this.
//
// Any thread. Never judges reads.
#ifndef MASTER_STORE_POSTGRES_FENCE_H_
#define MASTER_STORE_POSTGRES_FENCE_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "base/status_macros.h"
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

  // The statements in one transaction that holds the epoch. UNAVAILABLE when it is over: the caller
  // may ask again, and will find the master that leads.
  absl::Status Write(Connection& connection, std::vector<Connection::Statement> statements);

  // The same for a `work(Connection&)` that looks at the answers of its statements.
  template <class Work>
  auto Run(Pool& pool, const Work& work) -> decltype(work(std::declval<Connection&>())) {
    return Run(pool, work, "SELECT hold_epoch($1)");
  }
  // The same between two batches: sees all that those before it changed, those after it see it.
  // They wait for it, so it must be short.
  template <class Work>
  auto RunBetweenBatches(Pool& pool, const Work& work)
      -> decltype(work(std::declval<Connection&>())) {
    return Run(pool, work, "SELECT hold_batches($1)");
  }

 private:
  template <class Work>
  auto Run(Pool& pool, const Work& work, const char* hold)
      -> decltype(work(std::declval<Connection&>())) {
    return pool.Run([&](Connection& connection) -> decltype(work(connection)) {
      DET_RETURN_IF_ERROR(Begin(connection, hold));
      auto result = work(connection);
      DET_RETURN_IF_ERROR(End(connection, result.ok()));
      return result;
    });
  }
  absl::Status Begin(Connection& connection, const char* hold);
  absl::Status End(Connection& connection, bool commit);
  // `status`, unless the epoch is over.
  absl::Status Judge(const Connection& connection, absl::Status status);

  std::atomic<int64_t> epoch_ = 0;
  std::mutex mutex_;
  absl::AnyInvocable<void(absl::Status)> fenced_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_FENCE_H_
