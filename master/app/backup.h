// Backup of a cluster with an embedded PostgreSQL to one file, and restore: `resolute-master backup
// FILE` and `restore FILE`, which `det deploy backup|restore` execute. docs/backup.md describes the
// contents.
//
// Called by main.cc on the main thread; blocks. Runs PostgreSQL's own pg_dump and pg_restore.
#ifndef MASTER_APP_BACKUP_H_
#define MASTER_APP_BACKUP_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace det::app {

// Receives progress messages, one line each.
using Print = absl::FunctionRef<void(const std::string&)>;

// Works also while the cluster runs: the file is a consistent snapshot. `file` is written
// completely or not at all, and readable only by its owner, since it contains tokens. NOT_FOUND if
// there is no database in `data_dir`.
absl::Status Backup(const std::string& data_dir, const std::string& file, Print print);

// FAILED_PRECONDITION while a master runs on `data_dir`, for a backup of a newer master, and if
// `data_dir` contains a database, unless `replace`. INVALID_ARGUMENT for a file that is not a
// backup or is damaged. An existing database is replaced atomically once the restored one is
// complete.
absl::Status Restore(const std::string& data_dir, const std::string& file, bool replace,
                     Print print);

}  // namespace det::app

#endif  // MASTER_APP_BACKUP_H_
