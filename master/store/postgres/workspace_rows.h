// Helpers shared by the sources of workspaces, projects and models. Called within their
// transactions.
#ifndef MASTER_STORE_POSTGRES_WORKSPACE_ROWS_H_
#define MASTER_STORE_POSTGRES_WORKSPACE_ROWS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/core/model/value.h"
#include "master/store/interfaces/projects.h"
#include "master/store/interfaces/workspaces.h"
#include "master/store/postgres/connection.h"

namespace det::store {

inline constexpr char kUniqueViolation[] = "23505";  // the SQLSTATE unique_violation

// INTERNAL if the text is not a state.
absl::StatusOr<WorkspaceState> ToWorkspaceState(std::string_view text);

std::vector<ProjectNote> ToNotes(const model::Value& value);

// Locks the workspace's row until the transaction ends. NOT_FOUND; FAILED_PRECONDITION if it is
// archived.
absl::Status LockOpen(Connection& connection, int32_t workspace);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_WORKSPACE_ROWS_H_
