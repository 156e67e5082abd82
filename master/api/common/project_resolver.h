// Where experiments lie: what a request names, found.
//
// Called by the services on the pool; blocks.
#ifndef MASTER_API_COMMON_PROJECT_RESOLVER_H_
#define MASTER_API_COMMON_PROJECT_RESOLVER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "master/core/cluster/event.h"
#include "master/store/interfaces/store.h"

namespace det::api {

struct FoundSpace {
  cluster::ProjectRef project_ref;
  store::WorkspaceRecord workspace;
};

// NOT_FOUND says how to make it; FAILED_PRECONDITION for one that is archived.
absl::StatusOr<FoundSpace> FindSpace(store::Store& store, int32_t project);
// Empty names: Uncategorized.
absl::StatusOr<FoundSpace> FindSpace(store::Store& store, const std::string& workspace,
                                     const std::string& project);

}  // namespace det::api

#endif  // MASTER_API_COMMON_PROJECT_RESOLVER_H_
