#include "master/api/users/roles.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace det::api {
namespace {

v1::ScopeTypeMask ToScopes(bool workspace) {
  v1::ScopeTypeMask mask;
  mask.set_cluster(true);
  mask.set_workspace(workspace);
  return mask;
}

v1::RoleAssignment ToAssignment(const RoleInfo& role, int32_t workspace) {
  v1::RoleAssignment assignment;
  assignment.mutable_role()->set_role_id(role.id.value());
  assignment.mutable_role()->set_name(role.name);
  *assignment.mutable_role()->mutable_scope_type_mask() =
      ToScopes(model::IsAssignableInWorkspace(role.listed()));
  assignment.set_scope_cluster(workspace == 0);
  if (workspace != 0) assignment.set_scope_workspace_id(workspace);
  return assignment;
}

}  // namespace

absl::StatusOr<std::vector<RoleInfo>> ListRoles(store::Store& store) {
  std::vector<RoleInfo> roles;
  for (const model::BuiltInRole& role : model::GetBuiltInRoles()) {
    roles.push_back({role.id, std::string(role.name), model::GetPermissions(role.id)});
  }
  DET_ASSIGN_OR_RETURN(std::vector<store::RoleRecord> created, store.groups().ListRoles());
  for (store::RoleRecord& role : created) {
    roles.push_back({role.id, std::move(role.name), role.permissions});
  }
  std::sort(roles.begin(), roles.end(),
            [](const RoleInfo& a, const RoleInfo& b) { return a.name < b.name; });
  return roles;
}

const RoleInfo* FindRole(const std::vector<RoleInfo>& roles, model::RoleId id) {
  for (const RoleInfo& role : roles) {
    if (role.id == id) return &role;
  }
  return nullptr;
}

absl::StatusOr<RoleInfo> FindRole(const std::vector<RoleInfo>& roles, const v1::Role& given) {
  if (given.role_id() == 0 && given.name().empty()) {
    return absl::InvalidArgumentError("role: expected its role_id or its name, found neither");
  }
  for (const RoleInfo& role : roles) {
    const bool fits =
        given.role_id() != 0 ? role.id.value() == given.role_id() : role.name == given.name();
    if (fits) return role;
  }
  return absl::NotFoundError(
      absl::StrCat("role ", given.role_id() != 0 ? absl::StrCat(given.role_id()) : given.name(),
                   " not found; expected one of ",
                   absl::StrJoin(roles, ", ", [](std::string* out, const RoleInfo& role) {
                     absl::StrAppend(out, role.name, " (", role.id.value(), ")");
                   })));
}

v1::Role ToProto(const RoleInfo& role) {
  v1::Role out;
  out.set_role_id(role.id.value());
  out.set_name(role.name);
  const model::PermissionSet listed = role.listed();
  *out.mutable_scope_type_mask() = ToScopes(model::IsAssignableInWorkspace(listed));
  for (const model::PermissionInfo& info : model::GetPermissionInfos()) {
    if (!listed.contains(info.permission)) continue;
    v1::Permission* permission = out.add_permissions();
    permission->set_id(static_cast<v1::PermissionType>(info.permission));
    permission->set_name(std::string(info.name));
    *permission->mutable_scope_type_mask() = ToScopes(!info.cluster_only);
  }
  return out;
}

absl::StatusOr<model::PermissionSet> ReadPermissions(const v1::Role& given) {
  model::PermissionSet permissions;
  for (const v1::Permission& each : given.permissions()) {
    const auto permission = model::ToPermission(each.id());
    if (!permission) {
      return absl::InvalidArgumentError(
          absl::StrCat("permissions: ", v1::PermissionType_Name(each.id()), " (", each.id(),
                       ") is not a permission; `det rbac describe-role ClusterAdmin` lists all"));
    }
    permissions.insert(*permission);
  }
  if (permissions.empty()) {
    return absl::InvalidArgumentError("permissions: expected at least one permission, found none");
  }
  return permissions;
}

std::vector<v1::RoleWithAssignments> GroupByRole(const std::vector<RoleInfo>& roles,
                                                 const std::vector<store::RoleAssignment>& users,
                                                 const std::vector<store::GroupRole>& groups) {
  std::vector<v1::RoleWithAssignments> grouped;
  for (const RoleInfo& role : roles) {
    v1::RoleWithAssignments with;
    for (const store::GroupRole& each : groups) {
      if (each.role != role.id) continue;
      v1::GroupRoleAssignment* assignment = with.add_group_role_assignments();
      assignment->set_group_id(each.group);
      *assignment->mutable_role_assignment() = ToAssignment(role, each.workspace);
    }
    for (const store::RoleAssignment& each : users) {
      if (each.role != role.id) continue;
      v1::UserRoleAssignment* assignment = with.add_user_role_assignments();
      assignment->set_user_id(each.user.value());
      *assignment->mutable_role_assignment() = ToAssignment(role, each.workspace);
    }
    if (with.user_role_assignments().empty() && with.group_role_assignments().empty()) continue;
    *with.mutable_role() = ToProto(role);
    grouped.push_back(std::move(with));
  }
  return grouped;
}

}  // namespace det::api
