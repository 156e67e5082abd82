// det rbac my-permissions|list-roles|describe-role|list-users-roles|list-groups-roles|assign-role|
// unassign-role
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/paging.h"
#include "cli/commands/user.h"
#include "cli/commands/user_group.h"
#include "cli/commands/workspace.h"
#include "cli/table.h"
#include "det/api/v1/role.pb.h"
#include "det/api/v1/workspace.pb.h"

namespace det::cli {
namespace {

const Positional kRole = {"ROLE", "Role, such as Editor; `det rbac list-roles` shows all"};

// Returns the names of the workspaces that the user can view.
absl::StatusOr<std::map<int, std::string>> WorkspaceNames(const ApiClient& api) {
  api::v1::GetWorkspacesResponse response;
  DET_RETURN_IF_ERROR(
      api.Call("WorkspaceService.GetWorkspaces", api::v1::GetWorkspacesRequest(), &response));
  std::map<int, std::string> names;
  for (const auto& each : response.workspaces()) names[each.id()] = each.name();
  return names;
}

std::string GetName(const std::map<int, std::string>& names, int workspace) {
  const auto it = names.find(workspace);
  return it == names.end() ? absl::StrCat("workspace ", workspace) : it->second;
}

// Returns the names of the groups of a user that the caller can view.
absl::StatusOr<std::map<int, std::string>> GroupNames(const ApiClient& api, int user) {
  api::v1::GetGroupsRequest request;
  request.set_user_id(user);
  request.set_limit(-1);
  api::v1::GetGroupsResponse response;
  DET_RETURN_IF_ERROR(api.Call("GroupService.GetGroups", request, &response));
  std::map<int, std::string> names;
  for (const auto& each : response.groups()) names[each.group().group_id()] = each.group().name();
  return names;
}

constexpr char kWholeCluster[] = "(the cluster)";

absl::StatusOr<int> RunMyPermissions(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetPermissionsSummaryResponse response;
  DET_RETURN_IF_ERROR(api->Call("RoleService.GetPermissionsSummary",
                                api::v1::GetPermissionsSummaryRequest(), &response));
  DET_ASSIGN_OR_RETURN(const auto names, WorkspaceNames(*api));
  std::map<int, const api::v1::Role*> roles;
  for (const api::v1::Role& role : response.roles()) roles[role.role_id()] = &role;
  Table table({{"SCOPE", false, true}, {"ROLE"}, {"PERMISSIONS", true}});
  for (const api::v1::RoleAssignmentSummary& each : response.assignments()) {
    const api::v1::Role* role = roles[each.role_id()];
    if (role == nullptr) continue;
    const std::string count = absl::StrCat(role->permissions_size());
    if (each.scope_cluster()) table.AddRow({kWholeCluster, role->name(), count});
    for (const int workspace : each.scope_workspace_ids()) {
      table.AddRow({GetName(names, workspace), role->name(), count});
    }
  }
  return run.PrintList(response, table, "no roles; ask an administrator to assign one");
}

absl::StatusOr<api::v1::ListRolesResponse> AllRoles(const ApiClient& api) {
  api::v1::ListRolesResponse response;
  DET_RETURN_IF_ERROR(api.Call("RoleService.ListRoles", api::v1::ListRolesRequest(), &response));
  return response;
}

absl::StatusOr<int> RunListRoles(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const Page page, ReadPage(run));
  DET_ASSIGN_OR_RETURN(api::v1::ListRolesResponse response, AllRoles(*api));
  Table table({{"ID", true}, {"ROLE"}, {"WORKSPACE SCOPE"}, {"PERMISSIONS", true}});
  auto& roles = *response.mutable_roles();
  if (run.args.Has("exclude-global-roles")) {
    roles.erase(std::remove_if(
                    roles.begin(), roles.end(),
                    [](const api::v1::Role& role) { return !role.scope_type_mask().workspace(); }),
                roles.end());
  }
  response.mutable_pagination()->set_total(roles.size());
  KeepPage(page, &roles);
  for (const api::v1::Role& role : roles) {
    table.AddRow({absl::StrCat(role.role_id()), role.name(),
                  role.scope_type_mask().workspace() ? "yes" : "no",
                  absl::StrCat(role.permissions_size())});
  }
  return PrintPage(run, response, response.pagination(), table, "roles", "no roles");
}

absl::StatusOr<int> RunDescribeRole(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const api::v1::ListRolesResponse response, AllRoles(*api));
  const std::string name = run.args.Word("ROLE");
  for (const api::v1::Role& role : response.roles()) {
    if (role.name() != name) continue;
    Table table({{"PERMISSION"}, {"WORKSPACE SCOPE"}});
    for (const api::v1::Permission& each : role.permissions()) {
      table.AddRow({each.name(), each.scope_type_mask().workspace() ? "yes" : "no"});
    }
    return run.PrintList(role, table, "no permissions");
  }
  return absl::NotFoundError(absl::StrCat("no role \"", name, "\"; see `det rbac list-roles`"));
}

absl::StatusOr<int> RunListUsersRoles(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const api::v1::User user, FindUser(*api, run.args.Word("USER")));
  api::v1::GetRolesAssignedToUserRequest request;
  request.set_user_id(user.id());
  api::v1::GetRolesAssignedToUserResponse response;
  DET_RETURN_IF_ERROR(api->Call("RoleService.GetRolesAssignedToUser", request, &response));
  DET_ASSIGN_OR_RETURN(const auto names, WorkspaceNames(*api));
  DET_ASSIGN_OR_RETURN(const auto groups, GroupNames(*api, user.id()));
  Table table({{"SCOPE", false, true}, {"ROLE"}, {"THROUGH", false, true}});
  for (const api::v1::RoleWithAssignments& role : response.roles()) {
    const auto add = [&](const api::v1::RoleAssignment& each, const std::string& source) {
      const int workspace = each.scope_workspace_id();
      table.AddRow(
          {workspace == 0 ? kWholeCluster : GetName(names, workspace), role.role().name(), source});
    };
    for (const auto& each : role.user_role_assignments()) add(each.role_assignment(), "");
    for (const auto& each : role.group_role_assignments()) {
      const auto it = groups.find(each.group_id());
      add(each.role_assignment(),
          absl::StrCat("group ", it == groups.end() ? absl::StrCat(each.group_id()) : it->second));
    }
  }
  return run.PrintList(response, table, absl::StrCat("user ", user.username(), " has no role"));
}

absl::StatusOr<int> RunListGroupsRoles(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const api::v1::Group group, FindGroup(*api, run.args.Word("GROUP")));
  api::v1::GetRolesAssignedToGroupRequest request;
  request.set_group_id(group.group_id());
  api::v1::GetRolesAssignedToGroupResponse response;
  DET_RETURN_IF_ERROR(api->Call("RoleService.GetRolesAssignedToGroup", request, &response));
  DET_ASSIGN_OR_RETURN(const auto names, WorkspaceNames(*api));
  std::map<int, std::string> roles;
  for (const api::v1::Role& role : response.roles()) roles[role.role_id()] = role.name();
  Table table({{"SCOPE", false, true}, {"ROLE"}});
  for (const api::v1::RoleAssignmentSummary& each : response.assignments()) {
    if (each.scope_cluster()) table.AddRow({kWholeCluster, roles[each.role_id()]});
    for (const int workspace : each.scope_workspace_ids()) {
      table.AddRow({GetName(names, workspace), roles[each.role_id()]});
    }
  }
  return run.PrintList(response, table, absl::StrCat("user group ", group.name(), " has no role"));
}

// Calls `method` with the assignment of the command line and prints `done`.
template <class Request, class Response>
absl::StatusOr<int> ChangeAssignment(Invocation& run, const char* method, const char* done) {
  const std::string role = run.args.Word("ROLE");
  const std::string user = run.args.Get("username-to-assign").value_or("");
  const std::string group = run.args.Get("group-name-to-assign").value_or("");
  if (user.empty() == group.empty()) {
    return UsageError("expected either --username-to-assign USER or --group-name-to-assign GROUP");
  }
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  Request request;
  api::v1::RoleAssignment* assignment = nullptr;
  if (group.empty()) {
    DET_ASSIGN_OR_RETURN(const api::v1::User found, FindUser(*api, user));
    request.add_user_role_assignments()->set_user_id(found.id());
    assignment = request.mutable_user_role_assignments(0)->mutable_role_assignment();
  } else {
    DET_ASSIGN_OR_RETURN(const api::v1::Group found, FindGroup(*api, group));
    request.add_group_role_assignments()->set_group_id(found.group_id());
    assignment = request.mutable_group_role_assignments(0)->mutable_role_assignment();
  }
  assignment->mutable_role()->set_name(role);
  const std::string where = run.args.Get("workspace-name").value_or("");
  if (where.empty()) {
    assignment->set_scope_cluster(true);
  } else {
    DET_ASSIGN_OR_RETURN(const api::v1::Workspace workspace, FindWorkspace(*api, where));
    assignment->set_scope_workspace_id(workspace.id());
  }
  Response response;
  DET_RETURN_IF_ERROR(api->Call(absl::StrCat("RoleService.", method), request, &response));
  return run.PrintResult(
      response, absl::StrCat(group.empty() ? user : absl::StrCat("user group ", group), done, role,
                             where.empty() ? " for the cluster" : " in workspace ", where, "\n"));
}

absl::StatusOr<int> RunAssign(Invocation& run) {
  return ChangeAssignment<api::v1::AssignRolesRequest, api::v1::AssignRolesResponse>(
      run, "AssignRoles", " is now ");
}

absl::StatusOr<int> RunUnassign(Invocation& run) {
  return ChangeAssignment<api::v1::RemoveAssignmentsRequest, api::v1::RemoveAssignmentsResponse>(
      run, "RemoveAssignments", " is no longer ");
}

}  // namespace

std::vector<Command> RbacCommands() {
  const std::vector<Option> whose = {
      {"username-to-assign", 'u', "USER", "User of the assignment"},
      {"group-name-to-assign", 'g', "GROUP", "User group of the assignment"},
      {"workspace-name", 'w', "WORKSPACE", "Workspace scope (default: the whole cluster)"}};
  return {
      {{"rbac", "my-permissions"},
       "Show your roles and their scope",
       {},
       {kCsv},
       RunMyPermissions,
       ""},
      {{"rbac", "list-roles"},
       "List roles",
       {},
       PagedOptions(
           {{"exclude-global-roles", 0, "", "Only roles that can be assigned in a workspace"}}),
       RunListRoles,
       ""},
      {{"rbac", "describe-role"},
       "List the permissions of a role",
       {kRole},
       {kCsv},
       RunDescribeRole,
       ""},
      {{"rbac", "list-users-roles"},
       "List the roles of a user",
       {{"USER", "User name"}},
       {kCsv},
       RunListUsersRoles,
       ""},
      {{"rbac", "list-groups-roles"},
       "List the roles of a user group",
       {{"GROUP", "Group name"}},
       {kCsv},
       RunListGroupsRoles,
       ""},
      {{"rbac", "assign-role"}, "Assign a role to a user or group", {kRole}, whose, RunAssign, ""},
      {{"rbac", "unassign-role"},
       "Remove a role from a user or group",
       {kRole},
       whose,
       RunUnassign,
       ""},
  };
}

}  // namespace det::cli
