#include "master/api/users/delegation.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/auth/user_roles.h"

namespace det::api {
namespace {

bool HoldsEverything(const auth::Principal& caller) {
  return caller.GetPermissions(0).includes(model::GetPermissions(model::Role::kClusterAdmin));
}

bool HoldsAll(const auth::Principal& caller, const std::vector<auth::WorkspaceRole>& roles) {
  return std::all_of(roles.begin(), roles.end(), [&](const auth::WorkspaceRole& role) {
    return caller.GetPermissions(role.workspace).includes(role.GetPermissions());
  });
}

}  // namespace

absl::Status CheckCanMakeAdministrators(const auth::Principal& caller) {
  if (HoldsEverything(caller)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      "admin: only administrators can make others administrators; ask one");
}

absl::Status CheckCanActAs(store::Store& store, const auth::Principal& caller, model::UserId user) {
  if (user == caller.user || HoldsEverything(caller)) return absl::OkStatus();
  DET_ASSIGN_OR_RETURN(const store::UserRecord record, store.users().GetUser(user));
  DET_ASSIGN_OR_RETURN(const auto own, store.access().GetUserRoles(user));
  DET_ASSIGN_OR_RETURN(const auto of_groups, store.groups().ListRolesOfUser(user));
  DET_ASSIGN_OR_RETURN(const auto created, store.groups().ListRoles());
  if (!record.admin && HoldsAll(caller, auth::MakeRoles(own, of_groups, created))) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "user ", record.username, " has permissions that you lack; ask a cluster administrator"));
}

absl::Status CheckCanAddMembers(store::Store& store, const auth::Principal& caller,
                                const std::vector<int32_t>& groups) {
  if (HoldsEverything(caller)) return absl::OkStatus();
  DET_ASSIGN_OR_RETURN(const auto created, store.groups().ListRoles());
  for (const int32_t group : groups) {
    DET_ASSIGN_OR_RETURN(const auto roles, store.groups().ListRolesOfGroup(group));
    if (HoldsAll(caller, auth::MakeRoles({}, roles, created))) continue;
    return absl::PermissionDeniedError(
        absl::StrCat("the roles of group ", group,
                     " have permissions that you lack; ask a cluster administrator"));
  }
  return absl::OkStatus();
}

}  // namespace det::api
