// Columns that workspaces and projects share. Called by their sources here. Never talks to the
// database.
#ifndef MASTER_STORE_POSTGRES_SPACE_ROWS_H_
#define MASTER_STORE_POSTGRES_SPACE_ROWS_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "master/store/workspaces.h"

namespace det::store {

inline constexpr char kTaken[] = "23505";  // the SQLSTATE of a row that must be the only one

// INTERNAL for what no master wrote.
absl::StatusOr<SpaceState> ToSpaceState(std::string_view text);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SPACE_ROWS_H_
