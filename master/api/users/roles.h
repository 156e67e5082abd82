// Roles as the API shows them: the built-in ones and those that administrators created.
//
// Any thread. Only ListRoles reads the store.
#ifndef MASTER_API_USERS_ROLES_H_
#define MASTER_API_USERS_ROLES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "det/api/v1/role.pb.h"
#include "master/auth/permissions.h"
#include "master/core/model/permission.h"
#include "master/core/model/role.h"
#include "master/store/interfaces/access.h"
#include "master/store/interfaces/groups.h"
#include "master/store/interfaces/store.h"

namespace det::api {

struct RoleInfo {
  model::RoleId id;
  std::string name;
  model::PermissionSet permissions;

  // What the API lists of it.
  model::PermissionSet listed() const { return model::GetListedPermissions(id, permissions); }
};

// Sorted by name.
absl::StatusOr<std::vector<RoleInfo>> ListRoles(store::Store& store);
// Null if there is no such role.
const RoleInfo* FindRole(const std::vector<RoleInfo>& roles, model::RoleId id);
// Finds a role by its ID or, if there is none, by its name. Returns INVALID_ARGUMENT if neither is
// set, and NOT_FOUND if there is no such role.
absl::StatusOr<RoleInfo> FindRole(const std::vector<RoleInfo>& roles, const v1::Role& given);

v1::Role ToProto(const RoleInfo& role);
// Reads the permissions of a role to create. Returns INVALID_ARGUMENT for an unknown permission, or
// if there is none.
absl::StatusOr<model::PermissionSet> ReadPermissions(const v1::Role& given);

// Groups the assignments by role.
std::vector<v1::RoleWithAssignments> GroupByRole(const std::vector<RoleInfo>& roles,
                                                 const std::vector<store::RoleAssignment>& users,
                                                 const std::vector<store::GroupRole>& groups);

}  // namespace det::api

#endif  // MASTER_API_USERS_ROLES_H_
