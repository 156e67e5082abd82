// What the sources of workspaces, projects and models share. Called by them, within their
// transactions.
#ifndef MASTER_STORE_POSTGRES_SPACE_ROWS_H_
#define MASTER_STORE_POSTGRES_SPACE_ROWS_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/store/interfaces/workspaces.h"
#include "master/store/postgres/connection.h"

namespace det::store {

inline constexpr char kTaken[] = "23505";  // the SQLSTATE of a row that must be the only one

// INTERNAL for what no master wrote.
absl::StatusOr<SpaceState> ToSpaceState(std::string_view text);

// Holds the row of the workspace until the transaction ends. NOT_FOUND; FAILED_PRECONDITION for one
// that is archived.
absl::Status LockOpen(Connection& connection, int32_t workspace);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SPACE_ROWS_H_
