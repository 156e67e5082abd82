#include "master/auth/user_roles.h"

namespace det::auth {
namespace {

using model::Permission;
using model::PermissionSet;

PermissionSet MakeSet(std::initializer_list<Permission> permissions) {
  PermissionSet set;
  for (const Permission permission : permissions) set.insert(permission);
  return set;
}

// Who may delete a model may delete the own one; to delete those of others is a permission of its
// own.
PermissionSet GetOwnPermissions(const PermissionSet& permissions) {
  PermissionSet own;
  if (permissions.contains(Permission::kDeleteModelRegistry)) {
    own.insert(Permission::kDeleteOtherUserModelRegistry);
  }
  if (permissions.contains(Permission::kDeleteModelVersion)) {
    own.insert(Permission::kDeleteOtherUserModelVersion);
  }
  return own;
}

void Add(int32_t workspace, model::RoleId id, const std::vector<store::RoleRecord>& created,
         std::vector<WorkspaceRole>* roles) {
  WorkspaceRole role{.workspace = workspace, .role = id};
  for (const store::RoleRecord& record : created) {
    if (record.id == id) role.permissions = record.permissions;
  }
  role.own = GetOwnPermissions(role.GetPermissions());
  if (!role.GetPermissions().empty()) roles->push_back(role);
}

// Changes that without roles only owners and administrators may make.
constexpr Permission kForOwners[] = {
    Permission::kDeleteExperiment, Permission::kUpdateProject, Permission::kDeleteProject,
    Permission::kDeleteOtherUserModelRegistry, Permission::kDeleteOtherUserModelVersion};

}  // namespace

std::vector<WorkspaceRole> MakeRoles(const std::vector<store::RoleAssignment>& own,
                                     const std::vector<store::GroupRole>& of_groups,
                                     const std::vector<store::RoleRecord>& created) {
  std::vector<WorkspaceRole> roles;
  for (const store::RoleAssignment& each : own) Add(each.workspace, each.role, created, &roles);
  for (const store::GroupRole& each : of_groups) Add(each.workspace, each.role, created, &roles);
  return roles;
}

std::vector<WorkspaceRole> MakeRolesForBasicMode(const std::vector<int32_t>& owned) {
  WorkspaceRole everywhere{.workspace = 0, .role = model::Role::kEditor};
  PermissionSet permissions = model::GetPermissions(model::Role::kEditor);
  permissions |= MakeSet({Permission::kCreateProject, Permission::kViewMasterLogs,
                          Permission::kSetWorkspaceDefaultResourcePool});
  for (const Permission each : kForOwners) {
    permissions.erase(each);
    everywhere.own.insert(each);
  }
  // Administrators create and revoke access tokens.
  permissions.erase(Permission::kCreateToken);
  permissions.erase(Permission::kUpdateToken);
  everywhere.permissions = permissions;
  std::vector<WorkspaceRole> roles = {everywhere};
  for (const int32_t workspace : owned) {
    roles.push_back({.workspace = workspace,
                     .role = model::Role::kWorkspaceAdmin,
                     .permissions = MakeSet(
                         {Permission::kUpdateWorkspace, Permission::kDeleteWorkspace,
                          Permission::kSetWorkspaceCheckpointStorageConfig,
                          Permission::kUpdateProject, Permission::kDeleteProject,
                          Permission::kEditWebhooks, Permission::kModifyWorkspaceConfigPolicies})});
  }
  return roles;
}

}  // namespace det::auth
