// Stands between a client and a PostgreSQL server on a Unix socket, and when it is told to loses
// the end of a transaction that changes something, or the answer to it.
//
// Threads of its own; Cut on any thread. Never changes what is said.
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

  // The database by this way.
  const std::string& database() const { return database_; }

  // The connection on which a transaction ends next breaks, other than the one that sums up metrics
  // when it likes: before the server hears of it, or when it has answered. With `away`, so many connections after it break at once. `then` is called
  // before the client notices, on a thread of the proxy.
  enum class Moment { kBefore, kAfter };
  void Cut(
      Moment moment = Moment::kAfter, int away = 0, std::function<void()> then = [] {}) {
    std::lock_guard lock(mutex_);
    moment_ = moment;
    away_ = away;
    then_ = std::move(then);
    armed_ = true;
  }
  // Whether it has happened.
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
  std::vector<std::thread> connections_;  // of accepter_
  std::thread accepter_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_TESTING_CUTTING_PROXY_H_
