#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/role.unary.h"
#include "master/api/common/convert.h"
#include "master/api/rpc/api_service.h"
#include "master/api/users/convert_user.h"
#include "master/api/users/group_members.h"
#include "master/api/users/roles.h"
#include "master/api/users/services.h"

namespace det::api {
namespace {

using model::Permission;

constexpr size_t kRoleNameLimit = 128;

// Role assignments of a request.
struct Assignments {
  std::vector<store::RoleAssignment> users;
  std::vector<store::GroupRole> groups;
  std::vector<std::string> targets;  // of the audit records: "user 2, Editor in workspace 1"
};

class RoleService final : public ApiService<v1::RoleService> {
 public:
  RoleService(CallPipeline& calls, store::Store& store, auth::Authenticator& authenticator)
      : ApiService(calls), store_(store), authenticator_(authenticator) {}

  grpc::ServerUnaryReactor* GetPermissionsSummary(
      grpc::CallbackServerContext* context, const v1::GetPermissionsSummaryRequest* request,
      v1::GetPermissionsSummaryResponse* response) override {
    return Unary(
        __func__, context, request, response,
        [this, response](const auth::Principal& caller) { return Summarize(caller, response); });
  }

  grpc::ServerUnaryReactor* ListRoles(grpc::CallbackServerContext* context,
                                      const v1::ListRolesRequest* request,
                                      v1::ListRolesResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const auto roles, api::ListRoles(store_));
                   ListRoleWindow(roles, *request, response);
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* GetRolesByID(grpc::CallbackServerContext* context,
                                         const v1::GetRolesByIDRequest* request,
                                         v1::GetRolesByIDResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller) {
                   return GetByIds(caller, *request, response);
                 });
  }

  grpc::ServerUnaryReactor* SearchRolesAssignableToScope(
      grpc::CallbackServerContext* context, const v1::SearchRolesAssignableToScopeRequest* request,
      v1::SearchRolesAssignableToScopeResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(std::vector<RoleInfo> roles, api::ListRoles(store_));
                   std::erase_if(roles, [&](const RoleInfo& role) {
                     const absl::Status fits = CheckScope(request->workspace_id(), role);
                     // In the mode without roles, clients may show them to everybody.
                     if (caller.basic || !fits.ok()) return !fits.ok();
                     return !CheckCanAssign(caller, request->workspace_id(), role).ok();
                   });
                   ListRoleWindow(roles, *request, response);
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* GetRolesAssignedToUser(
      grpc::CallbackServerContext* context, const v1::GetRolesAssignedToUserRequest* request,
      v1::GetRolesAssignedToUserResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) {
                   return ListUserRoles(model::UserId(request->user_id()), response);
                 });
  }

  grpc::ServerUnaryReactor* GetRolesAssignedToGroup(
      grpc::CallbackServerContext* context, const v1::GetRolesAssignedToGroupRequest* request,
      v1::GetRolesAssignedToGroupResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller) {
                   return ListGroupRoles(caller, request->group_id(), response);
                 });
  }

  grpc::ServerUnaryReactor* CreateRole(grpc::CallbackServerContext* context,
                                       const v1::CreateRoleRequest* request,
                                       v1::CreateRoleResponse* response) override {
    return Unary(
        __func__, context, request, response,
        [this, request, response](const auth::Principal& caller) -> absl::Status {
          DET_ASSIGN_OR_RETURN(store::RoleRecord role, ReadRole(caller, request->role()));
          DET_ASSIGN_OR_RETURN(role, store_.groups().AddRole(role));
          *response->mutable_role() = ToProto(RoleInfo{role.id, role.name, role.permissions});
          return absl::OkStatus();
        });
  }

  grpc::ServerUnaryReactor* UpdateRole(grpc::CallbackServerContext* context,
                                       const v1::UpdateRoleRequest* request,
                                       v1::UpdateRoleResponse* response) override {
    return Unary(
        __func__, context, request, response,
        [this, request, response](const auth::Principal& caller) -> absl::Status {
          const model::RoleId id(request->role().role_id());
          DET_RETURN_IF_ERROR(CheckIsCreated(id));
          DET_ASSIGN_OR_RETURN(store::RoleRecord role, ReadRole(caller, request->role()));
          role.id = id;
          const absl::Status changed = store_.groups().ChangeRole(role);
          authenticator_.InvalidateAll();
          DET_RETURN_IF_ERROR(changed);
          *response->mutable_role() = ToProto(RoleInfo{role.id, role.name, role.permissions});
          return absl::OkStatus();
        });
  }

  grpc::ServerUnaryReactor* DeleteRole(grpc::CallbackServerContext* context,
                                       const v1::DeleteRoleRequest* request,
                                       v1::DeleteRoleResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal&) -> absl::Status {
                   const model::RoleId id(request->role_id());
                   DET_RETURN_IF_ERROR(CheckIsCreated(id));
                   return store_.groups().DeleteRole(id);
                 });
  }

  grpc::ServerUnaryReactor* GetGroupsAndUsersAssignedToWorkspace(
      grpc::CallbackServerContext* context,
      const v1::GetGroupsAndUsersAssignedToWorkspaceRequest* request,
      v1::GetGroupsAndUsersAssignedToWorkspaceResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) {
                   return ListWorkspaceRoles(*request, response);
                 });
  }

  grpc::ServerUnaryReactor* AssignRoles(grpc::CallbackServerContext* context,
                                        const v1::AssignRolesRequest* request,
                                        v1::AssignRolesResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const Call& call, Done done) {
                   done(Change(call, *request, [this](const Assignments& given) {
                     return store_.groups().AddRoles(given.users, given.groups);
                   }));
                 });
  }

  grpc::ServerUnaryReactor* RemoveAssignments(grpc::CallbackServerContext* context,
                                              const v1::RemoveAssignmentsRequest* request,
                                              v1::RemoveAssignmentsResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const Call& call, Done done) {
                   done(Change(call, *request, [this](const Assignments& given) {
                     return store_.groups().RemoveRoles(given.users, given.groups);
                   }));
                 });
  }

 private:
  // Workspace 0 means the cluster.
  static absl::Status CheckScope(int32_t workspace, const RoleInfo& role) {
    if (workspace == 0 || model::IsAssignableInWorkspace(role.listed())) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(role.name, " has permissions of the whole cluster, such as \"",
                     FindClusterPermission(role), "\"; assign it without a workspace"));
  }

  static absl::Status CheckCanAssign(const auth::Principal& caller, int32_t workspace,
                                     const RoleInfo& role) {
    DET_RETURN_IF_ERROR(CheckScope(workspace, role));
    const bool may_assign = workspace == 0 ? caller.Holds(Permission::kAdministrateUser, 0)
                                           : caller.Holds(Permission::kAssignRoles, workspace);
    if (may_assign && caller.GetPermissions(workspace).includes(role.permissions)) {
      return absl::OkStatus();
    }
    return absl::PermissionDeniedError(
        workspace == 0
            ? std::string("only cluster administrators can assign roles for the cluster; ask one, "
                          "or name a workspace")
            : absl::StrCat(
                  "roles in workspace ", workspace,
                  " can be assigned only by its administrators, and not above their own role; "
                  "ask a cluster administrator"));
  }

  static std::string FindClusterPermission(const RoleInfo& role) {
    const model::PermissionSet listed = role.listed();
    for (const model::PermissionInfo& info : model::GetPermissionInfos()) {
      if (info.cluster_only && listed.contains(info.permission)) return std::string(info.name);
    }
    return "";
  }

  static absl::Status CheckIsCreated(model::RoleId id) {
    if (id.is_created()) return absl::OkStatus();
    for (const model::BuiltInRole& role : model::GetBuiltInRoles()) {
      if (role.id != id) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("role ", id.value(), " is built in and cannot be changed; create another"));
    }
    return store::NoSuchRole(id);
  }

  // Reads a role to create. Nobody can create a role with permissions that they lack.
  absl::StatusOr<store::RoleRecord> ReadRole(const auth::Principal& caller, const v1::Role& given) {
    store::RoleRecord role{.name = given.name()};
    if (role.name.empty() || role.name.size() > kRoleNameLimit) {
      return absl::InvalidArgumentError(
          absl::StrCat("name: expected 1 to ", kRoleNameLimit, " bytes, found ", role.name.size()));
    }
    for (const model::BuiltInRole& each : model::GetBuiltInRoles()) {
      if (each.name == std::string_view(role.name)) return store::RoleExists(role.name);
    }
    DET_ASSIGN_OR_RETURN(role.permissions, ReadPermissions(given));
    if (caller.GetPermissions(0).includes(role.permissions)) return role;
    return absl::PermissionDeniedError(
        "the role has permissions that you lack; ask a cluster administrator");
  }

  struct Target {
    int32_t workspace = 0;
    model::RoleId role;
    std::string text;  // "Editor in workspace 1"
  };
  absl::StatusOr<Target> Read(const auth::Principal& caller, const std::vector<RoleInfo>& roles,
                              const v1::RoleAssignment& given) {
    const int32_t workspace = given.scope_workspace_id();
    if (given.scope_cluster() && workspace != 0) {
      return absl::InvalidArgumentError(
          "expected either scope_cluster or scope_workspace_id, found both; keep one");
    }
    DET_ASSIGN_OR_RETURN(const RoleInfo role, FindRole(roles, given.role()));
    DET_RETURN_IF_ERROR(CheckCanAssign(caller, workspace, role));
    if (workspace != 0) {
      DET_RETURN_IF_ERROR(store_.workspaces().GetWorkspaceName(workspace).status());
    }
    return Target{
        workspace, role.id,
        absl::StrCat(role.name, workspace == 0 ? std::string(" for the cluster")
                                               : absl::StrCat(" in workspace ", workspace))};
  }

  template <class Request>
  absl::StatusOr<Assignments> Read(const auth::Principal& caller, const Request& request) {
    if (request.user_role_assignments().empty() && request.group_role_assignments().empty()) {
      return absl::InvalidArgumentError(
          "expected user_role_assignments or group_role_assignments, found neither");
    }
    DET_ASSIGN_OR_RETURN(const std::vector<RoleInfo> roles, api::ListRoles(store_));
    Assignments read;
    for (const v1::UserRoleAssignment& given : request.user_role_assignments()) {
      DET_ASSIGN_OR_RETURN(const Target target, Read(caller, roles, given.role_assignment()));
      read.users.push_back({model::UserId(given.user_id()), target.workspace, target.role});
      DET_RETURN_IF_ERROR(store_.users().GetUser(read.users.back().user).status());
      read.targets.push_back(absl::StrCat("user ", given.user_id(), ", ", target.text));
    }
    for (const v1::GroupRoleAssignment& given : request.group_role_assignments()) {
      DET_ASSIGN_OR_RETURN(const Target target, Read(caller, roles, given.role_assignment()));
      read.groups.push_back({given.group_id(), target.workspace, target.role});
      DET_RETURN_IF_ERROR(store_.groups().GetGroup(given.group_id()).status());
      read.targets.push_back(absl::StrCat("group ", given.group_id(), ", ", target.text));
    }
    return read;
  }

  // Writes the assignments of a request, makes them apply to the next call, and records each.
  template <class Request, class Write>
  absl::Status Change(const Call& call, const Request& request, Write write) {
    DET_ASSIGN_OR_RETURN(const Assignments given, Read(call.principal(), request));
    const absl::Status written = write(given);
    for (const store::RoleAssignment& each : given.users) authenticator_.InvalidateUser(each.user);
    if (!given.groups.empty()) authenticator_.InvalidateAll();
    for (const std::string& each : given.targets) call.RecordPart(each, written);
    return written;
  }

  absl::Status GetByIds(const auth::Principal& caller, const v1::GetRolesByIDRequest& request,
                        v1::GetRolesByIDResponse* response) {
    if (request.role_ids().empty()) {
      return absl::NotFoundError("role_ids: no roles found; name at least one");
    }
    DET_ASSIGN_OR_RETURN(const std::vector<RoleInfo> roles, api::ListRoles(store_));
    for (const int32_t id : request.role_ids()) {
      v1::Role given;
      given.set_role_id(id);
      DET_ASSIGN_OR_RETURN(const RoleInfo role, FindRole(roles, given));
      v1::RoleWithAssignments* with = response->add_roles();
      *with->mutable_role() = ToProto(role);
      // Only who may assign roles sees who has them.
      if (!caller.basic && !caller.Holds(Permission::kAssignRoles, 0)) continue;
      DET_ASSIGN_OR_RETURN(std::vector<store::RoleAssignment> users,
                           store_.groups().ListUsersWithRole(role.id));
      if (role.id == model::Role::kClusterAdmin) DET_RETURN_IF_ERROR(AddAdministrators(&users));
      DET_ASSIGN_OR_RETURN(const std::vector<store::GroupRole> groups,
                           store_.groups().ListGroupsWithRole(role.id));
      for (v1::RoleWithAssignments& each : GroupByRole({role}, users, groups)) {
        *with = std::move(each);
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddAdministrators(std::vector<store::RoleAssignment>* assignments) {
    DET_ASSIGN_OR_RETURN(const store::UserPage page, store_.users().ListUsers({.admin = true}));
    for (const store::UserRecord& user : page.users) {
      assignments->push_back({user.id, 0, model::Role::kClusterAdmin});
    }
    return absl::OkStatus();
  }

  // A user who does not exist has no roles.
  absl::Status ListUserRoles(model::UserId id, v1::GetRolesAssignedToUserResponse* response) {
    DET_ASSIGN_OR_RETURN(const std::vector<RoleInfo> roles, api::ListRoles(store_));
    DET_ASSIGN_OR_RETURN(std::vector<store::RoleAssignment> users,
                         store_.access().GetUserRoles(id));
    const auto user = store_.users().GetUser(id);
    if (user.ok() && user->admin) users.push_back({id, 0, model::Role::kClusterAdmin});
    DET_ASSIGN_OR_RETURN(const auto groups, store_.groups().ListRolesOfUser(id));
    for (v1::RoleWithAssignments& each : GroupByRole(roles, users, groups)) {
      *response->add_roles() = std::move(each);
    }
    return absl::OkStatus();
  }

  absl::Status ListGroupRoles(const auth::Principal& caller, int32_t id,
                              v1::GetRolesAssignedToGroupResponse* response) {
    const absl::StatusOr<store::GroupRecord> group = store_.groups().GetGroup(id);
    // A group that does not exist or that the caller may not see has no roles.
    if (!group.ok() || !SeesGroup(caller, *group)) return absl::OkStatus();
    DET_ASSIGN_OR_RETURN(const std::vector<RoleInfo> roles, api::ListRoles(store_));
    DET_ASSIGN_OR_RETURN(const auto held, store_.groups().ListRolesOfGroup(id));
    std::vector<auth::WorkspaceRole> assigned;
    for (const store::GroupRole& each : held) {
      assigned.push_back({.workspace = each.workspace, .role = each.role});
    }
    AddSummaries(roles, assigned, response);
    return absl::OkStatus();
  }

  absl::Status ListWorkspaceRoles(const v1::GetGroupsAndUsersAssignedToWorkspaceRequest& request,
                                  v1::GetGroupsAndUsersAssignedToWorkspaceResponse* response) {
    if (request.workspace_id() == 0) {
      return absl::InvalidArgumentError("workspace_id: expected the ID of a workspace");
    }
    const auto matches = [&](const std::string& name) {
      return absl::StrContains(absl::AsciiStrToLower(name), absl::AsciiStrToLower(request.name()));
    };
    DET_ASSIGN_OR_RETURN(std::vector<store::RoleAssignment> users,
                         store_.access().GetWorkspaceRoles(request.workspace_id()));
    DET_ASSIGN_OR_RETURN(std::vector<store::GroupRole> groups,
                         store_.groups().ListRolesInWorkspace(request.workspace_id()));
    // Both lists are sorted: the roles of one user or group are adjacent.
    std::vector<store::RoleAssignment> shown_users;
    for (const store::RoleAssignment& each : users) {
      const auto user = store_.users().GetUser(each.user);
      if (absl::IsNotFound(user.status())) continue;
      DET_RETURN_IF_ERROR(user.status());
      if (!matches(user->username)) continue;
      const bool first = shown_users.empty() || shown_users.back().user != each.user;
      if (first) *response->add_users_assigned_directly() = ToProto(*user);
      shown_users.push_back(each);
    }
    std::vector<store::GroupRole> shown_groups;
    for (const store::GroupRole& each : groups) {
      DET_ASSIGN_OR_RETURN(const store::GroupRecord group, store_.groups().GetGroup(each.group));
      if (!matches(group.name)) continue;
      const bool first = shown_groups.empty() || shown_groups.back().group != each.group;
      if (first) {
        DET_ASSIGN_OR_RETURN(*response->add_groups(), ToDetails(store_, group));
      }
      shown_groups.push_back(each);
    }
    DET_ASSIGN_OR_RETURN(const std::vector<RoleInfo> roles, api::ListRoles(store_));
    for (v1::RoleWithAssignments& each : GroupByRole(roles, shown_users, shown_groups)) {
      *response->add_assignments() = std::move(each);
    }
    return absl::OkStatus();
  }

  absl::Status Summarize(const auth::Principal& caller,
                         v1::GetPermissionsSummaryResponse* response) {
    DET_ASSIGN_OR_RETURN(const std::vector<RoleInfo> roles, api::ListRoles(store_));
    std::vector<auth::WorkspaceRole> held = caller.roles;
    if (caller.admin) held.push_back({0, model::Role::kClusterAdmin});
    for (auth::WorkspaceRole& each : held) {
      // The maximum role of an access token may be less than the role of its user.
      if (caller.limit != model::Role::kNone && ToRole(each.role) > caller.limit) {
        each.role = caller.limit;
      }
    }
    AddSummaries(roles, held, response);
    return absl::OkStatus();
  }

  // Adds the roles that are held, with their scopes.
  template <class Response>
  static void AddSummaries(const std::vector<RoleInfo>& roles,
                           const std::vector<auth::WorkspaceRole>& held, Response* response) {
    for (const RoleInfo& role : roles) {
      v1::RoleAssignmentSummary summary;
      std::vector<int32_t> workspaces;
      for (const auth::WorkspaceRole& each : held) {
        if (each.role != role.id) continue;
        if (each.workspace == 0) summary.set_scope_cluster(true);
        if (each.workspace != 0) workspaces.push_back(each.workspace);
      }
      // A user may have a role in a workspace also through a group.
      std::sort(workspaces.begin(), workspaces.end());
      workspaces.erase(std::unique(workspaces.begin(), workspaces.end()), workspaces.end());
      summary.mutable_scope_workspace_ids()->Add(workspaces.begin(), workspaces.end());
      if (!summary.scope_cluster() && workspaces.empty()) continue;
      *response->add_roles() = ToProto(role);
      summary.set_role_id(role.id.value());
      *response->add_assignments() = summary;
    }
  }

  // Returns the requested window of `roles`.
  template <class Request, class Response>
  static void ListRoleWindow(const std::vector<RoleInfo>& roles, const Request& request,
                             Response* response) {
    for (const RoleInfo& role : roles) *response->add_roles() = ToProto(role);
    *response->mutable_pagination() = ApplyWindow(request, response->mutable_roles());
  }

  store::Store& store_;
  auth::Authenticator& authenticator_;
};

}  // namespace

std::unique_ptr<Service> MakeRoleService(CallPipeline& calls, store::Store& store,
                                         auth::Authenticator& authenticator) {
  return std::make_unique<RoleService>(calls, store, authenticator);
}

}  // namespace det::api
