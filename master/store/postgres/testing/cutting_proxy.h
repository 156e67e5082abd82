// A proxy between a client and a PostgreSQL server on a Unix socket. On request it drops the commit
// of a transaction that writes, or the response to it.
//
// Has its own threads; Cut on any thread. Never changes messages.
#ifndef MASTER_STORE_POSTGRES_TESTING_CUTTING_PROXY_H_
#define MASTER_STORE_POSTGRES_TESTING_CUTTING_PROXY_H_

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/file.h"

namespace det::store {

class CuttingProxy {
 public:
  // `database`: "host=FOLDER ...".
  explicit CuttingProxy(const std::string& database);
  ~CuttingProxy();

  // Connection string of the database through this proxy.
  const std::string& database() const { return database_; }

  // Breaks the next connection that ends a transaction (except the metric summary backfill): before
  // the server receives the commit, or after it has responded. The following `away` connections
  // break immediately. `then` is called on a thread of the proxy before the client notices.
  enum class Moment { kBefore, kAfter };
  void Cut(
      Moment moment = Moment::kAfter, int away = 0, std::function<void()> then = [] {}) {
    std::lock_guard lock(mutex_);
    moment_ = moment;
    away_ = away;
    then_ = std::move(then);
    armed_ = true;
  }
  // Whether the connection was cut.
  bool cut() const { return !armed_; }

 private:
  void Accept();
  void Pass(base::Fd client);

  base::TempDir dir_;
  std::string server_;  // the path of its socket
  std::string database_;
  base::Fd listener_;
  std::atomic<bool> armed_ = false;
  std::atomic<Moment> moment_ = Moment::kAfter;
  std::atomic<int> away_ = 0;
  std::mutex mutex_;
  std::function<void()> then_ = [] {};  // guarded by mutex_
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> connections_;  // used by accepter_
  std::thread accepter_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_TESTING_CUTTING_PROXY_H_
