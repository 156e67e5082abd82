// Turns role assignments into what a principal holds. With roles, these are the roles of the user
// and of the user's groups. Without roles, every user may work with everything, and owners and
// administrators change the rest (docs/api.md).
//
// PURE.
#ifndef MASTER_AUTH_USER_ROLES_H_
#define MASTER_AUTH_USER_ROLES_H_

#include <cstdint>
#include <vector>

#include "master/auth/permissions.h"
#include "master/store/interfaces/access.h"
#include "master/store/interfaces/groups.h"

namespace det::auth {

// Whether roles decide what users may do.
enum class AuthzType { kRbac, kBasic };

// `created` must contain all roles of the assignments that are not built-in; others are ignored.
std::vector<WorkspaceRole> MakeRoles(const std::vector<store::RoleAssignment>& own,
                                     const std::vector<store::GroupRole>& of_groups,
                                     const std::vector<store::RoleRecord>& created);

// What a user who is not an administrator holds without roles. `owned`: the user's workspaces.
std::vector<WorkspaceRole> MakeRolesForBasicMode(const std::vector<int32_t>& owned);

}  // namespace det::auth

#endif  // MASTER_AUTH_USER_ROLES_H_
