#include "master/api/users/convert_role.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace det::api {
namespace {

using model::Role;

// The numbers by which existing clients know them.
int32_t IdOf(Role role) {
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

// The first permission beyond those of a role; the enumeration is sorted by the least role.
constexpr int kOfEditors = v1::PERMISSION_TYPE_CREATE_EXPERIMENT;
constexpr int kOfWorkspaceAdmins = v1::PERMISSION_TYPE_UPDATE_WORKSPACE;
constexpr int kOfClusterAdmins = v1::PERMISSION_TYPE_ADMINISTRATE_USER;

Role LeastRoleFor(int permission) {
  if (permission >= kOfClusterAdmins) return Role::kClusterAdmin;
  if (permission >= kOfWorkspaceAdmins) return Role::kWorkspaceAdmin;
  return permission >= kOfEditors ? Role::kEditor : Role::kViewer;
}

// "PERMISSION_TYPE_VIEW_PROJECT" -> "view project".
std::string NameOf(const std::string& value) {
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
  out.set_role_id(IdOf(role));
  out.set_name(std::string(ToString(role)));
  out.mutable_scope_type_mask()->set_cluster(true);
  out.mutable_scope_type_mask()->set_workspace(role != Role::kClusterAdmin);
  const auto* types = v1::PermissionType_descriptor();
  for (int i = 0; i < types->value_count(); ++i) {
    const int number = types->value(i)->number();
    const Role least = LeastRoleFor(number);
    if (number == 0 || least > role) continue;
    v1::Permission* permission = out.add_permissions();
    permission->set_id(static_cast<v1::PermissionType>(number));
    permission->set_name(NameOf(types->value(i)->name()));
    permission->mutable_scope_type_mask()->set_cluster(true);
    permission->mutable_scope_type_mask()->set_workspace(least != Role::kClusterAdmin);
  }
  return out;
}

absl::StatusOr<Role> FromProto(const v1::Role& given) {
  if (given.role_id() == 0 && given.name().empty()) {
    return absl::InvalidArgumentError("role: expected its role_id or its name, found neither");
  }
  for (const Role role : AllRoles()) {
    const bool fits = given.role_id() != 0 ? given.role_id() == IdOf(role)
                                           : given.name() == std::string(ToString(role));
    if (fits) return role;
  }
  return absl::NotFoundError(absl::StrCat(
      "role ", given.role_id() != 0 ? absl::StrCat(given.role_id()) : given.name(),
      " does not exist; there are ClusterAdmin (1), WorkspaceAdmin (2), Viewer (4), Editor (5)"));
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
      scope->mutable_role()->set_role_id(IdOf(role));
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
