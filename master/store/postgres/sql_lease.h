// The row that says which master leads. Used by SqlStore. Any thread; blocks.
#ifndef MASTER_STORE_POSTGRES_SQL_LEASE_H_
#define MASTER_STORE_POSTGRES_SQL_LEASE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/store/interfaces/lease.h"
#include "master/store/postgres/connection.h"

namespace det::store {

// Also works without tables, and with tables of an older master.
absl::StatusOr<LeaseRecord> ReadLease(Connection& connection);

// Locks the fencing row until the end of the caller's transaction. Terminates database sessions
// that lock it: a master that was stopped or disconnected in a transaction would keep the lock
// forever, and could not commit any more with its old epoch.
absl::Status SeizeFencing(Connection& connection);

// Raises the epoch for a leader with a lease if it is `expected` (nullopt: any); returns whether it
// was. Uses a transaction of its own.
absl::StatusOr<bool> ClaimLease(Connection& connection, std::optional<int64_t> expected);

// Returns false if another master has a newer epoch.
absl::StatusOr<bool> RenewLease(Connection& connection, int64_t epoch, const std::string& leader);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SQL_LEASE_H_
