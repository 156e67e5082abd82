// In which workspace the things lie that requests name: what decides who may see and change them.
//
// Asked by admission.h, on threads that may block.
#ifndef MASTER_API_AUTHZ_WORKSPACE_RESOLVER_H_
#define MASTER_API_AUTHZ_WORKSPACE_RESOLVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "master/auth/permissions.h"
#include "master/store/interfaces/store.h"

namespace det::api {

class Whereabouts {
 public:
  virtual ~Whereabouts() = default;
  // NOT_FOUND when there is none. `where` is a kind of thing, `id` as requests write it.
  virtual absl::StatusOr<int32_t> WorkspaceOf(auth::Where where, const std::string& id) = 0;
};

// By the store's rows; `store` must outlive it.
std::unique_ptr<Whereabouts> MakeWhereabouts(store::Store* store);

}  // namespace det::api

#endif  // MASTER_API_AUTHZ_WORKSPACE_RESOLVER_H_
