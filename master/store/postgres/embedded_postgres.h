// The embedded PostgreSQL server: a private cluster in <data_dir>/postgres, reached only through a
// Unix socket. It is created at the first start, restarted when it dies, and shut down cleanly at
// the end. If the master runs as root, which PostgreSQL rejects, the server runs as user "postgres"
// or "nobody".
//
// Owned by the composition root, which holds the lock on data_dir: two servers on one directory are
// not allowed. Any thread; Start and Stop block. Never listens on a network, never polls.
#ifndef MASTER_STORE_POSTGRES_EMBEDDED_POSTGRES_H_
#define MASTER_STORE_POSTGRES_EMBEDDED_POSTGRES_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace det::store {

class EmbeddedPostgres {
 public:
  struct Options {
    std::string data_dir;  // absolute; created if missing
    bool fsync = true;     // false only in tests, whose data may be lost
  };

  // Returns once the server accepts connections. A server that an earlier master left running on
  // the same directory is reused if it answers and has the same settings; otherwise it is stopped
  // first. Errors (FAILED_PRECONDITION, PERMISSION_DENIED, UNAVAILABLE) state what to do.
  static absl::StatusOr<std::unique_ptr<EmbeddedPostgres>> Start(const Options& options);

  // Stops the server that an earlier master left running, if there is one. UNAVAILABLE if it does
  // not stop.
  static absl::Status StopLeftover(const std::string& data_dir);

  // Connection string of the server in a data directory, whichever process started it.
  static std::string ConnectionString(const std::string& data_dir);

  // Calls Stop().
  ~EmbeddedPostgres();

  // Shuts the server down cleanly and waits for it. Stores on it should be closed before.
  void Stop();

  // For OpenPostgresStore.
  const std::string& connection_string() const;
  // Process id of the server; changes when it is restarted, 0 while it is down.
  int pid() const;

 private:
  class Impl;
  explicit EmbeddedPostgres(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

// Returns the folder with the programs of the PostgreSQL version that created `cluster`
// (<data_dir>/postgres), or of the newest installed version if it does not exist yet. NOT_FOUND or
// FAILED_PRECONDITION if there is none.
absl::StatusOr<std::string> FindServerPrograms(const std::string& cluster);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_EMBEDDED_POSTGRES_H_
