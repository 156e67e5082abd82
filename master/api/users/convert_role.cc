#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "master/api/users/convert_user.h"

namespace det::api {
namespace {

using model::Role;

// The role IDs that existing clients use.
int32_t GetRoleId(Role role) {
  switch (role) {
    case Role::kNone:
      return 0;
    case Role::kClusterAdmin:
      return 1;
    case Role::kWorkspaceAdmin:
      return 2;
    case Role::kViewer:
      return 4;
    case Role::kEditor:
      return 5;
  }
  return 0;
}

// The first permission that needs each role; the enumeration is sorted by the minimum role.
constexpr int kFirstEditorPermission = v1::PERMISSION_TYPE_CREATE_EXPERIMENT;
constexpr int kFirstWorkspaceAdminPermission = v1::PERMISSION_TYPE_UPDATE_WORKSPACE;
constexpr int kFirstClusterAdminPermission = v1::PERMISSION_TYPE_ADMINISTRATE_USER;

Role GetMinRole(int permission) {
  if (permission >= kFirstClusterAdminPermission) return Role::kClusterAdmin;
  if (permission >= kFirstWorkspaceAdminPermission) return Role::kWorkspaceAdmin;
  return permission >= kFirstEditorPermission ? Role::kEditor : Role::kViewer;
}

// "PERMISSION_TYPE_VIEW_PROJECT" -> "view project".
std::string FormatPermissionName(const std::string& value) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(absl::StripPrefix(value, "PERMISSION_TYPE_")),
                             {{"_", " "}});
}

}  // namespace

const std::vector<Role>& AllRoles() {
  static const auto& all = *new std::vector<Role>{Role::kClusterAdmin, Role::kWorkspaceAdmin,
                                                  Role::kEditor, Role::kViewer};
  return all;
}

v1::Role ToProto(Role role) {
  v1::Role out;
  out.set_role_id(GetRoleId(role));
  out.set_name(std::string(ToString(role)));
  out.mutable_scope_type_mask()->set_cluster(true);
  out.mutable_scope_type_mask()->set_workspace(role != Role::kClusterAdmin);
  const auto* types = v1::PermissionType_descriptor();
  for (int i = 0; i < types->value_count(); ++i) {
    const int number = types->value(i)->number();
    const Role min_role = GetMinRole(number);
    if (number == 0 || min_role > role) continue;
    v1::Permission* permission = out.add_permissions();
    permission->set_id(static_cast<v1::PermissionType>(number));
    permission->set_name(FormatPermissionName(types->value(i)->name()));
    permission->mutable_scope_type_mask()->set_cluster(true);
    permission->mutable_scope_type_mask()->set_workspace(min_role != Role::kClusterAdmin);
  }
  return out;
}

absl::StatusOr<Role> FromProto(const v1::Role& given) {
  if (given.role_id() == 0 && given.name().empty()) {
    return absl::InvalidArgumentError("role: expected its role_id or its name, found neither");
  }
  for (const Role role : AllRoles()) {
    const bool fits = given.role_id() != 0 ? given.role_id() == GetRoleId(role)
                                           : given.name() == std::string(ToString(role));
    if (fits) return role;
  }
  return absl::NotFoundError(absl::StrCat(
      "role ", given.role_id() != 0 ? absl::StrCat(given.role_id()) : given.name(),
      " not found; there are ClusterAdmin (1), WorkspaceAdmin (2), Viewer (4), Editor (5)"));
}

void AddByRole(const std::vector<store::RoleAssignment>& assignments,
               google::protobuf::RepeatedPtrField<v1::RoleWithAssignments>* out) {
  for (const Role role : AllRoles()) {
    v1::RoleWithAssignments with;
    for (const store::RoleAssignment& each : assignments) {
      if (each.role != role) continue;
      v1::UserRoleAssignment* assignment = with.add_user_role_assignments();
      assignment->set_user_id(each.user.value());
      v1::RoleAssignment* scope = assignment->mutable_role_assignment();
      scope->mutable_role()->set_role_id(GetRoleId(role));
      scope->mutable_role()->set_name(std::string(ToString(role)));
      scope->set_scope_cluster(each.workspace == 0);
      if (each.workspace != 0) scope->set_scope_workspace_id(each.workspace);
    }
    if (with.user_role_assignments().empty()) continue;
    *with.mutable_role() = ToProto(role);
    *out->Add() = std::move(with);
  }
}

}  // namespace det::api
