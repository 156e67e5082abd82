// The Store on PostgreSQL, embedded or anybody's. Opened by the composition root.
//
// One connection commits, one writes bulk data, a few read. Each is made when it is first needed
// and again when it breaks, so a server that comes back is found again.
#ifndef MASTER_STORE_POSTGRES_POSTGRES_STORE_H_
#define MASTER_STORE_POSTGRES_POSTGRES_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "master/store/interfaces/store.h"

namespace det::store {

// Connects and brings the tables up to date. `connection_string` is a URL ("postgresql://...") or
// libpq's keywords ("host=... dbname=..."). UNAVAILABLE when nobody answers; FAILED_PRECONDITION
// for a server too old, a database that is not UTF-8, or one that a newer master has changed.
absl::StatusOr<std::unique_ptr<Store>> OpenPostgresStore(const std::string& connection_string);

// The same for a master that only watches, on tables of whatever age: nothing is connected yet and
// nothing is changed. REQUIRES that of it ReadLease and ClaimLease are called alone.
std::unique_ptr<Store> OpenPostgresAsStandby(const std::string& connection_string);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_POSTGRES_STORE_H_
