// Where an embedded PostgreSQL lives and as whom: programs, folders, user. Found and made ready
// once, at start, by EmbeddedPostgres on its caller's thread. Never starts anything.
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
  std::string socket_dir;  // private, and short enough for a socket's path
  std::string log_path;
  // Whom to drop to; without: as we are.
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
};

// Finds the programs, chooses the user, makes the folders. The remedy stands in each error.
absl::StatusOr<Layout> PrepareLayout(const std::string& data_dir);

// <data_dir>/run, or a folder below /tmp when the socket's path would be too long there.
std::string ChooseSocketDir(const std::string& data_dir);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_LAYOUT_H_
