// Store on PostgreSQL, embedded or external. Opened by the composition root.
//
// One connection commits, one writes bulk data, a few read. Each is opened on first use and
// reopened when it breaks, so the store recovers when the server does.
#ifndef MASTER_STORE_POSTGRES_POSTGRES_STORE_H_
#define MASTER_STORE_POSTGRES_POSTGRES_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "master/store/interfaces/store.h"

namespace det::store {

// Connects and applies missing migrations. `connection_string` is a URL ("postgresql://...") or
// libpq's keywords ("host=... dbname=..."). UNAVAILABLE if the server cannot be reached;
// FAILED_PRECONDITION if the server is too old, the database is not UTF-8, or a newer master has
// migrated it.
absl::StatusOr<std::unique_ptr<Store>> OpenPostgresStore(const std::string& connection_string);

// Opens the store for a standby, with tables of any version: does not connect yet and changes
// nothing. REQUIRES that only ReadLease and ClaimLease are called.
std::unique_ptr<Store> OpenPostgresAsStandby(const std::string& connection_string);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_POSTGRES_STORE_H_
