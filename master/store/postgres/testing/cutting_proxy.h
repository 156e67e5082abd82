// Stands between a client and a PostgreSQL server on a Unix socket, and loses an answer when it is
// told to: the one to the end of a transaction that changes something, after the server has made
// it.
//
// Threads of its own; Cut on any thread. Never changes what is said.
#ifndef MASTER_STORE_POSTGRES_TESTING_CUTTING_PROXY_H_
#define MASTER_STORE_POSTGRES_TESTING_CUTTING_PROXY_H_

#include <atomic>
#include <string>
#include <thread>
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

  // The connection on which a transaction ends next breaks when the server has answered that.
  void Cut() { armed_ = true; }
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
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> connections_;  // of accepter_
  std::thread accepter_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_TESTING_CUTTING_PROXY_H_
