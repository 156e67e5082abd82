// Keeps the administrators of users, groups and tokens from gaining permissions that they lack.
//
// Called by the user, group and token services on the pool; blocks.
#ifndef MASTER_API_USERS_DELEGATION_H_
#define MASTER_API_USERS_DELEGATION_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "master/auth/permissions.h"
#include "master/core/model/ids.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// Returns PERMISSION_DENIED unless the caller has all permissions of administrators.
absl::Status CheckCanMakeAdministrators(const auth::Principal& caller);

// Returns PERMISSION_DENIED if the user has a permission that the caller lacks. A caller who sets the
// password of a user, or creates an access token, can act as that user.
absl::Status CheckCanActAs(store::Store& store, const auth::Principal& caller, model::UserId user);

// Returns PERMISSION_DENIED if a role of the groups has a permission that the caller lacks. Members
// get these roles.
absl::Status CheckCanAddMembers(store::Store& store, const auth::Principal& caller,
                                const std::vector<int32_t>& groups);

}  // namespace det::api

#endif  // MASTER_API_USERS_DELEGATION_H_
