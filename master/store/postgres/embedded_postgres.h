// A PostgreSQL of our own: a private cluster in <data_dir>/postgres, reached through a unix socket
// only, made at the first start, started again when it dies, stopped cleanly at the end. When we
// are root, which PostgreSQL refuses to be, it runs as user "postgres" or "nobody".
//
// Owned by the composition root, which holds the lock on data_dir: two at once on one directory are
// not allowed. Any thread; Start and Stop block. Never listens on a network, never wakes up idly.
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
    std::string data_dir;  // absolute; made if need be
    bool fsync = true;     // false: for tests, whose data may go with the machine
  };

  // Returns once it answers. A server that an earlier master left running on the same directory is
  // taken over if it answers and was started as it would be now, else stopped first.
  // FAILED_PRECONDITION, PERMISSION_DENIED or UNAVAILABLE with the remedy.
  static absl::StatusOr<std::unique_ptr<EmbeddedPostgres>> Start(const Options& options);

  // Ends the server that an earlier master left running there, if there is one. UNAVAILABLE when it
  // does not end.
  static absl::Status StopLeftover(const std::string& data_dir);

  // Of the server in a data directory, which others may have started.
  static std::string ConnectionString(const std::string& data_dir);

  // As Stop().
  ~EmbeddedPostgres();

  // Ends the server and waits for it; kept data are complete. Stores on it should be closed before.
  void Stop();

  // For OpenPostgresStore.
  const std::string& connection_string() const;
  // Of the server; changes when it is started again, 0 while it is down.
  int pid() const;

 private:
  class Impl;
  explicit EmbeddedPostgres(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

// The folder with the programs of the version that made `cluster` (<data_dir>/postgres), or of the
// newest that is installed. NOT_FOUND or FAILED_PRECONDITION when there are none.
absl::StatusOr<std::string> FindServerPrograms(const std::string& cluster);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_EMBEDDED_POSTGRES_H_
