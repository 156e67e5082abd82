// The row that says who leads. Used by SqlStore. Any thread; blocks.
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

// Also in a database without tables, and in one whose tables are of an older master.
absl::StatusOr<LeaseRecord> ReadLease(Connection& connection);

// Within the caller's transaction: the fencing row is ours until its end. Ends sessions that hold
// it in a transaction: a master that was stopped or cut off in the middle of one would keep it for
// ever, and what they were about to commit is over with its epoch.
absl::Status SeizeFencing(Connection& connection);

// Whether the epoch was `expected`, or whatever it was: then a new one has begun, that of a leader
// with a lease. In a transaction of its own.
absl::StatusOr<bool> ClaimLease(Connection& connection, std::optional<int64_t> expected);

// False when `epoch` is over.
absl::StatusOr<bool> RenewLease(Connection& connection, int64_t epoch, const std::string& leader);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SQL_LEASE_H_
