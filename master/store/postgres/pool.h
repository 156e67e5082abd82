// A connection pool. Each connection is opened on first use, and reopened after it broke. Any
// thread; Run blocks while all connections are in use.
#ifndef MASTER_STORE_POSTGRES_POOL_H_
#define MASTER_STORE_POSTGRES_POOL_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "master/store/postgres/connection.h"

namespace det::store {

class Pool {
 public:
  Pool(std::string connection_string, int size)
      : connection_string_(std::move(connection_string)), idle_(size) {}

  // Calls `work(Connection&)`, which returns an absl::Status or StatusOr. If the connection turns
  // out to be broken, calls it once more on a fresh one: `work` must be idempotent.
  template <class Work>
  auto Run(const Work& work) -> decltype(work(std::declval<Connection&>())) {
    Lease lease(*this);
    bool fresh = false;
    while (true) {
      if (lease.connection == nullptr) {
        DET_ASSIGN_OR_RETURN(lease.connection, Connection::Open(connection_string_));
        fresh = true;
      }
      auto result = work(*lease.connection);
      if (lease.connection->alive()) return result;
      lease.connection.reset();
      if (fresh) return result;
    }
  }

 private:
  // One of the connections, or the right to open one; returned by the destructor.
  struct Lease {
    explicit Lease(Pool& owner);
    ~Lease();
    Pool& pool;
    std::unique_ptr<Connection> connection;
  };

  const std::string connection_string_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Connection>> idle_;  // null: not open
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_POOL_H_
