#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
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
#include "master/api/users/services.h"
#include "master/store/interfaces/canonical.h"

namespace det::api {
namespace {

class RoleService final : public ApiService<v1::RoleService> {
 public:
  RoleService(CallPipeline& calls, store::Store& store, auth::Authenticator& authenticator)
      : ApiService(calls), store_(store), authenticator_(authenticator) {}

  grpc::ServerUnaryReactor* GetPermissionsSummary(
      grpc::CallbackServerContext* context, const v1::GetPermissionsSummaryRequest* request,
      v1::GetPermissionsSummaryResponse* response) override {
    return Unary(__func__, context, request, response,
                 [response](const auth::Principal& caller) { return Summarize(caller, response); });
  }

  grpc::ServerUnaryReactor* ListRoles(grpc::CallbackServerContext* context,
                                      const v1::ListRolesRequest* request,
                                      v1::ListRolesResponse* response) override {
    return Unary(__func__, context, request, response, [request, response](const auth::Principal&) {
      ListRoleWindow(AllRoles(), *request, response);
      return absl::OkStatus();
    });
  }

  grpc::ServerUnaryReactor* GetRolesByID(grpc::CallbackServerContext* context,
                                         const v1::GetRolesByIDRequest* request,
                                         v1::GetRolesByIDResponse* response) override {
    return Unary(__func__, context, request, response,
                 [request, response](const auth::Principal&) -> absl::Status {
                   for (const int32_t id : request->role_ids()) {
                     v1::Role role;
                     role.set_role_id(id);
                     DET_ASSIGN_OR_RETURN(const model::Role known, FromProto(role));
                     *response->add_roles()->mutable_role() = ToProto(known);
                   }
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* SearchRolesAssignableToScope(
      grpc::CallbackServerContext* context, const v1::SearchRolesAssignableToScopeRequest* request,
      v1::SearchRolesAssignableToScopeResponse* response) override {
    return Unary(__func__, context, request, response,
                 [request, response](const auth::Principal& caller) {
                   std::vector<model::Role> roles = AllRoles();
                   std::erase_if(roles, [&](model::Role role) {
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
                 [this, request](const auth::Principal& caller) {
                   return Change(caller, *request, &store::Access::AddRole);
                 });
  }

  grpc::ServerUnaryReactor* RemoveAssignments(grpc::CallbackServerContext* context,
                                              const v1::RemoveAssignmentsRequest* request,
                                              v1::RemoveAssignmentsResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal& caller) {
                   return Change(caller, *request, &store::Access::RemoveRole);
                 });
  }

 private:
  // Workspace 0 means the cluster. Authorization has already checked that the caller is an
  // administrator of each workspace in the request.
  static absl::Status CheckCanAssign(const auth::Principal& caller, int32_t workspace,
                                     model::Role role) {
    if (workspace != 0 && role == model::Role::kClusterAdmin) {
      return absl::InvalidArgumentError(
          "ClusterAdmin is a role of the whole cluster; assign it without a workspace");
    }
    const model::Role held = caller.RoleIn(workspace);
    const model::Role min_role =
        workspace == 0 ? model::Role::kClusterAdmin : model::Role::kWorkspaceAdmin;
    if (held >= min_role && held >= role) return absl::OkStatus();
    return absl::PermissionDeniedError(
        workspace == 0
            ? std::string("only cluster administrators can assign roles for the cluster; ask one, "
                          "or name a "
                          "workspace")
            : absl::StrCat(
                  "roles in workspace ", workspace,
                  " can be assigned only by its administrators, and not above their own role; "
                  "ask a cluster administrator"));
  }

  absl::StatusOr<store::RoleAssignment> Read(const auth::Principal& caller,
                                             const v1::UserRoleAssignment& given) {
    store::RoleAssignment assignment;
    assignment.user = model::UserId(given.user_id());
    assignment.workspace = given.role_assignment().scope_workspace_id();
    if (given.role_assignment().scope_cluster() && assignment.workspace != 0) {
      return absl::InvalidArgumentError(
          "expected either scope_cluster or scope_workspace_id, found both; keep one");
    }
    DET_ASSIGN_OR_RETURN(assignment.role, FromProto(given.role_assignment().role()));
    DET_RETURN_IF_ERROR(CheckCanAssign(caller, assignment.workspace, assignment.role));
    DET_RETURN_IF_ERROR(store_.users().GetUser(assignment.user).status());
    if (assignment.workspace == 0) return assignment;
    DET_RETURN_IF_ERROR(store_.workspaces().GetWorkspaceName(assignment.workspace).status());
    return assignment;
  }

  template <class Request>
  absl::Status Change(const auth::Principal& caller, const Request& request,
                      absl::Status (store::Access::*write)(const store::RoleAssignment&)) {
    if (request.group_role_assignments_size() > 0) {
      return absl::InvalidArgumentError("user groups are not supported; assign roles to users");
    }
    std::vector<store::RoleAssignment> assignments;
    for (const v1::UserRoleAssignment& given : request.user_role_assignments()) {
      DET_ASSIGN_OR_RETURN(assignments.emplace_back(), Read(caller, given));
    }
    for (const store::RoleAssignment& assignment : assignments) {
      const absl::Status written = std::invoke(write, store_.access(), assignment);
      authenticator_.InvalidateUser(assignment.user);
      DET_RETURN_IF_ERROR(written);
    }
    return absl::OkStatus();
  }

  absl::Status ListUserRoles(model::UserId id, v1::GetRolesAssignedToUserResponse* response) {
    DET_ASSIGN_OR_RETURN(const store::UserRecord user, store_.users().GetUser(id));
    DET_ASSIGN_OR_RETURN(std::vector<store::RoleAssignment> assignments,
                         store_.access().GetUserRoles(id));
    if (user.admin) assignments.push_back({id, 0, model::Role::kClusterAdmin});
    AddByRole(assignments, response->mutable_roles());
    return absl::OkStatus();
  }

  absl::Status ListWorkspaceRoles(const v1::GetGroupsAndUsersAssignedToWorkspaceRequest& request,
                                  v1::GetGroupsAndUsersAssignedToWorkspaceResponse* response) {
    if (request.workspace_id() == 0) {
      return absl::InvalidArgumentError("workspace_id: expected the ID of a workspace");
    }
    DET_ASSIGN_OR_RETURN(const auto all, store_.access().GetWorkspaceRoles(request.workspace_id()));
    std::vector<store::RoleAssignment> shown;
    std::set<model::UserId> seen;
    for (const store::RoleAssignment& each : all) {
      const auto user = store_.users().GetUser(each.user);
      if (absl::IsNotFound(user.status())) continue;
      DET_RETURN_IF_ERROR(user.status());
      if (!absl::StrContains(absl::AsciiStrToLower(user->username),
                             absl::AsciiStrToLower(request.name()))) {
        continue;
      }
      shown.push_back(each);
      if (seen.insert(each.user).second) {
        *response->add_users_assigned_directly() = ToProto(*user);
      }
    }
    AddByRole(shown, response->mutable_assignments());
    return absl::OkStatus();
  }

  static absl::Status Summarize(const auth::Principal& caller,
                                v1::GetPermissionsSummaryResponse* response) {
    std::vector<auth::WorkspaceRole> held = caller.roles;
    if (caller.admin) held.push_back({0, model::Role::kClusterAdmin});
    for (const model::Role role : AllRoles()) {
      v1::RoleAssignmentSummary summary;
      for (const auth::WorkspaceRole& each : held) {
        // The maximum role of an access token may be less than the role of its user.
        const bool bound = caller.limit != model::Role::kNone && each.role > caller.limit;
        if ((bound ? caller.limit : each.role) != role) continue;
        if (each.workspace == 0) {
          summary.set_scope_cluster(true);
        } else {
          summary.add_scope_workspace_ids(each.workspace);
        }
      }
      if (!summary.scope_cluster() && summary.scope_workspace_ids().empty()) continue;
      *response->add_roles() = ToProto(role);
      summary.set_role_id(response->roles().rbegin()->role_id());
      *response->add_assignments() = summary;
    }
    return absl::OkStatus();
  }

  // Returns the requested window of `roles`.
  template <class Request, class Response>
  static void ListRoleWindow(const std::vector<model::Role>& roles, const Request& request,
                             Response* response) {
    for (const model::Role role : roles) *response->add_roles() = ToProto(role);
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
