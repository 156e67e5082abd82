// Schema migrations: migrations/NNN_name.sql, compiled into the program and applied in order.
// Called once when a store is opened. There are no downgrades, and a released migration is never
// edited.
#ifndef MASTER_STORE_POSTGRES_MIGRATIONS_H_
#define MASTER_STORE_POSTGRES_MIGRATIONS_H_

#include <vector>

#include "absl/status/status.h"
#include "master/store/postgres/connection.h"

namespace det::store {

struct Migration {
  int number = 0;
  const char* name = nullptr;
  const char* sql = nullptr;
};

// All migrations, sorted by number, from 1. Generated from the files.
const std::vector<Migration>& AllMigrations();

// Applies the missing migrations in one transaction, under a lock against other masters, and logs
// them. FAILED_PRECONDITION if the database was migrated by a newer master; the error names its
// version.
absl::Status Migrate(Connection& connection, const std::vector<Migration>& migrations);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_MIGRATIONS_H_
