// A cluster with a PostgreSQL of its own in one file, and back: `resolute-master backup FILE` and
// `restore FILE`, to which `det deploy backup|restore` hand over. docs/backup.md says what is in
// it.
//
// Called by main.cc on the main thread; blocks. Runs PostgreSQL's own pg_dump and pg_restore.
#ifndef MASTER_APP_BACKUP_H_
#define MASTER_APP_BACKUP_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace det::app {

// Hears what is done, a line each.
using Say = absl::FunctionRef<void(const std::string&)>;

// Also while the cluster runs: the file holds one moment of it. `file` is written whole or not at
// all, readable by its owner alone, as it holds tokens. NOT_FOUND when there is no database in
// `data_dir`.
absl::Status Backup(const std::string& data_dir, const std::string& file, Say say);

// FAILED_PRECONDITION while a master runs on `data_dir`, for a backup of a newer master, and,
// unless `replace`, when it holds a database. INVALID_ARGUMENT for a file that is no backup, or a
// damaged one. The database that was there goes when the other is complete, in one step.
absl::Status Restore(const std::string& data_dir, const std::string& file, bool replace, Say say);

}  // namespace det::app

#endif  // MASTER_APP_BACKUP_H_
