// Where experiments lie: what a request names, found.
//
// Called by the services on the pool; blocks.
#ifndef MASTER_SERVICE_SPACES_H_
#define MASTER_SERVICE_SPACES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "master/cluster/event.h"
#include "master/store/store.h"

namespace det::service {

struct FoundSpace {
  cluster::Space space;
  store::WorkspaceRecord workspace;
};

// NOT_FOUND says how to make it; FAILED_PRECONDITION for one that is archived.
absl::StatusOr<FoundSpace> FindSpace(store::Store& store, int32_t project);
// Empty names: Uncategorized.
absl::StatusOr<FoundSpace> FindSpace(store::Store& store, const std::string& workspace,
                                     const std::string& project);

}  // namespace det::service

#endif  // MASTER_SERVICE_SPACES_H_
