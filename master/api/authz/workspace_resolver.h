// Finds the workspace of a resource that a request names: roles are held in workspaces.
//
// Used by authorizer.h; may block.
#ifndef MASTER_API_AUTHZ_WORKSPACE_RESOLVER_H_
#define MASTER_API_AUTHZ_WORKSPACE_RESOLVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "master/auth/permissions.h"
#include "master/store/interfaces/store.h"

namespace det::api {

class WorkspaceResolver {
 public:
  virtual ~WorkspaceResolver() = default;
  // `scope` is a kind of resource, `id` its id as in requests. NOT_FOUND if it does not exist.
  virtual absl::StatusOr<int32_t> FindWorkspace(auth::Scope scope, const std::string& id) = 0;
  // The user who created a resource; NOT_FOUND if this kind of resource has no owner.
  virtual absl::StatusOr<model::UserId> FindOwner(auth::Scope scope, const std::string& id) = 0;
};

// Returns a resolver that reads the store; `store` must outlive it.
std::unique_ptr<WorkspaceResolver> MakeWorkspaceResolver(store::Store* store);

}  // namespace det::api

#endif  // MASTER_API_AUTHZ_WORKSPACE_RESOLVER_H_
