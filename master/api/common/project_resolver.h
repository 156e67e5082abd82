// Finds the workspace and project that a request names.
//
// Called by the services on the pool; blocks.
#ifndef MASTER_API_COMMON_PROJECT_RESOLVER_H_
#define MASTER_API_COMMON_PROJECT_RESOLVER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/core/cluster/event.h"
#include "master/store/interfaces/store.h"

namespace det::api {

struct ResolvedProject {
  cluster::ProjectRef project_ref;
  store::WorkspaceRecord workspace;
};

// Returns NOT_FOUND if the project does not exist, and FAILED_PRECONDITION if it or its workspace
// is archived.
absl::StatusOr<ResolvedProject> ResolveProject(store::Store& store, int32_t project);
// Empty names mean the project Uncategorized.
absl::StatusOr<ResolvedProject> ResolveProject(store::Store& store, const std::string& workspace,
                                               const std::string& project);

// NOT_FOUND if the project does not exist, or is not in one of the workspaces `visible`; without
// these all are visible.
absl::Status CheckProjectIsVisible(store::Store& store, int32_t project,
                                   const std::optional<std::vector<int32_t>>& visible);

}  // namespace det::api

#endif  // MASTER_API_COMMON_PROJECT_RESOLVER_H_
