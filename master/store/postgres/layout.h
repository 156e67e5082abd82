// Programs, folders and Unix user of the embedded PostgreSQL. Determined and prepared once, at
// start, by EmbeddedPostgres on its caller's thread. Never starts a process.
#ifndef MASTER_STORE_POSTGRES_LAYOUT_H_
#define MASTER_STORE_POSTGRES_LAYOUT_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace det::store {

struct Layout {
  std::string bin_dir;     // with initdb and postgres
  std::string cluster;     // <data_dir>/postgres, PostgreSQL's own data directory
  std::string socket_dir;  // private; short enough for the path of a socket
  std::string log_path;
  // The user to run as; unset: the master's user.
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
};

// Finds the programs, chooses the user and creates the folders. Errors state what to do.
absl::StatusOr<Layout> PrepareLayout(const std::string& data_dir);

// Returns <data_dir>/run, or a folder in /tmp if the socket's path would be too long.
std::string ChooseSocketDir(const std::string& data_dir);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_LAYOUT_H_
