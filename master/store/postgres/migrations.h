// The tables, step by step: migrations/NNN_name.sql, built into the program and applied in order.
// Called once when a store is opened. Never goes back, never edits a step that was released.
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

// In order of their numbers, from 1. Generated from the files.
const std::vector<Migration>& AllMigrations();

// Applies those that the database has not seen, all in one transaction, while no other master does,
// and logs what it did. FAILED_PRECONDITION for a database that has seen more than we know, with
// the version of the master that it was changed by.
absl::Status Migrate(Connection& connection, const std::vector<Migration>& migrations);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_MIGRATIONS_H_
