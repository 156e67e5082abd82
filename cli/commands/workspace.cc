// det workspace list|describe|create|edit|archive|unarchive|delete|list-projects|
// list-pools|list-members
#include "cli/commands/workspace.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/confirm.h"
#include "cli/commands/paging.h"
#include "cli/commands/struct_text.h"
#include "cli/format.h"
#include "cli/table.h"
#include "det/api/v1/role.pb.h"
#include "det/api/v1/workspace.pb.h"
#include "proto/http_rule.h"

namespace det::cli {
namespace {

using api::v1::Workspace;

const Positional kOneWorkspace = {"WORKSPACE", "Workspace name"};

absl::StatusOr<int> RunWorkspaceList(Invocation& run) {
  api::v1::GetWorkspacesRequest request;
  DET_ASSIGN_OR_RETURN(const Page page, ReadPage(run));
  request.set_limit(page.limit);
  request.set_offset(page.offset);
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const NameOrder order, ReadNameOrder(run, api::v1::ORDER_BY_ASC));
  request.set_sort_by(order.by_name ? api::v1::GetWorkspacesRequest::SORT_BY_NAME
                                    : api::v1::GetWorkspacesRequest::SORT_BY_ID);
  request.set_order_by(order.order);
  const bool all = run.args.Has("all");
  if (!all) request.set_archived(false);
  api::v1::GetWorkspacesResponse response;
  DET_RETURN_IF_ERROR(api->Call("WorkspaceService.GetWorkspaces", request, &response));
  std::vector<Column> columns = {{"ID", true},          {"NAME", false, true},  {"PROJECTS", true},
                                 {"EXPERIMENTS", true}, {"OWNER", false, true}, {"COMPUTE POOL"},
                                 {"AUX POOL"}};
  if (all) columns.push_back({"ARCHIVED"});
  Table table(std::move(columns));
  for (const Workspace& each : response.workspaces()) {
    std::vector<Cell> row = {
        absl::StrCat(each.id()),
        each.name(),
        absl::StrCat(each.num_projects()),
        absl::StrCat(each.num_experiments()),
        each.username(),
        each.default_compute_pool().empty() ? "-" : each.default_compute_pool(),
        each.default_aux_pool().empty() ? "-" : each.default_aux_pool()};
    if (all) row.push_back(each.archived() ? "yes" : "no");
    table.AddRow(std::move(row));
  }
  return PrintPage(run, response, response.pagination(), table, "workspaces",
                   "no workspaces that you can view; create one: det workspace create NAME");
}

std::string Description(const Workspace& workspace, const Style& style) {
  std::vector<std::pair<std::string, Cell>> fields = {
      {"workspace", absl::StrCat(workspace.id(), "  ", workspace.name())}};
  if (workspace.archived()) fields.emplace_back("archived", "yes");
  if (workspace.state() != api::v1::WORKSPACE_STATE_UNSPECIFIED) {
    fields.emplace_back("deletion", absl::StrCat(api::v1::WorkspaceState_Name(workspace.state()),
                                                 " ", workspace.error_message()));
  }
  fields.emplace_back("owner", workspace.username());
  fields.emplace_back("projects", absl::StrCat(workspace.num_projects()));
  fields.emplace_back("experiments", absl::StrCat(workspace.num_experiments()));
  const auto pool = [](const std::string& name) { return name.empty() ? "cluster default" : name; };
  fields.emplace_back("compute pool", pool(workspace.default_compute_pool()));
  fields.emplace_back("aux pool", pool(workspace.default_aux_pool()));
  fields.emplace_back("agent user", AgentUserText(workspace.agent_user_group()));
  fields.emplace_back("checkpoints", FormatStruct(workspace.checkpoint_storage_config()));
  return RenderFields(fields, style);
}

absl::StatusOr<int> RunWorkspaceDescribe(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetWorkspaceResponse response;
  DET_ASSIGN_OR_RETURN(*response.mutable_workspace(),
                       FindWorkspace(*api, run.args.Word("WORKSPACE")));
  return run.PrintResult(response, Description(response.workspace(), run.screen->out()));
}

// Sets the fields of the options of create and edit in either message.
template <class Message>
absl::Status ReadWorkspaceSettings(const Invocation& run, Message* message) {
  if (HasAgentUser(run)) {
    DET_ASSIGN_OR_RETURN(*message->mutable_agent_user_group(), ReadAgentUser(run));
  }
  std::optional<std::string> text = run.args.Get("checkpoint-storage-config");
  if (const auto path = run.args.Get("checkpoint-storage-config-file")) {
    if (text) {
      return UsageError(
          "--checkpoint-storage-config and --checkpoint-storage-config-file cannot be used "
          "together");
    }
    DET_ASSIGN_OR_RETURN(text, base::ReadFile(*path));
  }
  if (text) {
    const absl::Status read = proto::FromJson(*text, message->mutable_checkpoint_storage_config());
    if (!read.ok()) {
      return UsageError(
          absl::StrCat("--checkpoint-storage-config: expected JSON: ", read.message()));
    }
  }
  if (const auto pool = run.args.Get("default-compute-pool")) {
    message->set_default_compute_pool(*pool);
  }
  if (const auto pool = run.args.Get("default-aux-pool")) message->set_default_aux_pool(*pool);
  return absl::OkStatus();
}

absl::StatusOr<int> RunWorkspaceCreate(Invocation& run) {
  api::v1::PostWorkspaceRequest request;
  request.set_name(run.args.Word("NAME"));
  DET_RETURN_IF_ERROR(ReadWorkspaceSettings(run, &request));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::PostWorkspaceResponse response;
  DET_RETURN_IF_ERROR(api->Call("WorkspaceService.PostWorkspace", request, &response));
  DET_ASSIGN_OR_RETURN(
      const int code,
      run.PrintResult(response, absl::StrCat("created workspace ", request.name(), " (id ",
                                             response.workspace().id(), ")\n")));
  if (!run.json())
    run.screen->PrintHint(absl::StrCat("det project create ", request.name(), " NAME"));
  return code;
}

absl::StatusOr<int> RunWorkspaceEdit(Invocation& run) {
  api::v1::PatchWorkspaceRequest request;
  DET_RETURN_IF_ERROR(ReadWorkspaceSettings(run, request.mutable_workspace()));
  if (const auto name = run.args.Get("name")) request.mutable_workspace()->set_name(*name);
  if (request.workspace().ByteSizeLong() == 0) {
    return UsageError("workspace edit: nothing to change; see `det workspace edit --help`");
  }
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const Workspace workspace, FindWorkspace(*api, run.args.Word("WORKSPACE")));
  request.set_id(workspace.id());
  api::v1::PatchWorkspaceResponse response;
  DET_RETURN_IF_ERROR(api->Call("WorkspaceService.PatchWorkspace", request, &response));
  return run.PrintResult(response, absl::StrCat("changed workspace ", workspace.name(), "\n"));
}

template <class Request, class Response>
absl::StatusOr<int> CallForWorkspace(Invocation& run, const char* method, const char* done) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const Workspace workspace, FindWorkspace(*api, run.args.Word("WORKSPACE")));
  Request request;
  request.set_id(workspace.id());
  Response response;
  DET_RETURN_IF_ERROR(api->Call(absl::StrCat("WorkspaceService.", method), request, &response));
  return run.PrintResult(response, absl::StrCat(done, " workspace ", workspace.name(), "\n"));
}

absl::StatusOr<int> RunWorkspaceArchive(Invocation& run) {
  return CallForWorkspace<api::v1::ArchiveWorkspaceRequest, api::v1::ArchiveWorkspaceResponse>(
      run, "ArchiveWorkspace", "archived");
}

absl::StatusOr<int> RunWorkspaceUnarchive(Invocation& run) {
  return CallForWorkspace<api::v1::UnarchiveWorkspaceRequest, api::v1::UnarchiveWorkspaceResponse>(
      run, "UnarchiveWorkspace", "unarchived");
}

absl::StatusOr<int> RunWorkspaceDelete(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const Workspace workspace, FindWorkspace(*api, run.args.Word("WORKSPACE")));
  // The master would delete the experiments; here they are deleted or moved by ID.
  if (workspace.num_experiments() > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "workspace ", workspace.name(), " has ",
        FormatCount(workspace.num_experiments(), "experiment"), " in ",
        FormatCount(workspace.num_projects(), "project"),
        "; delete or move them first (`det workspace list-projects ", workspace.name(), "`)"));
  }
  DET_RETURN_IF_ERROR(Confirm(
      run,
      absl::StrCat("Delete workspace ", workspace.name(),
                   workspace.num_projects() == 0
                       ? ""
                       : absl::StrCat(" with ", FormatCount(workspace.num_projects(), "project"),
                                      " that hold no experiments"),
                   "?")));
  api::v1::DeleteWorkspaceRequest request;
  request.set_id(workspace.id());
  api::v1::DeleteWorkspaceResponse response;
  DET_RETURN_IF_ERROR(api->Call("WorkspaceService.DeleteWorkspace", request, &response));
  return run.PrintResult(response, absl::StrCat(response.completed() ? "deleted" : "deleting",
                                                " workspace ", workspace.name(), "\n"));
}

absl::StatusOr<int> RunListProjects(Invocation& run) {
  return ListProjects(run, run.args.Word("WORKSPACE"));
}

absl::StatusOr<int> RunListPools(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const Workspace workspace, FindWorkspace(*api, run.args.Word("WORKSPACE")));
  api::v1::ListRPsBoundToWorkspaceRequest request;
  request.set_workspace_id(workspace.id());
  api::v1::ListRPsBoundToWorkspaceResponse response;
  DET_RETURN_IF_ERROR(api->Call("WorkspaceService.ListRPsBoundToWorkspace", request, &response));
  Table table({{"POOL"}});
  for (const std::string& pool : response.resource_pools()) table.AddRow({Cell(pool)});
  return run.PrintList(
      response, table,
      absl::StrCat("workspace ", workspace.name(), " cannot use any resource pool"));
}

absl::StatusOr<int> RunListMembers(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const Workspace workspace, FindWorkspace(*api, run.args.Word("WORKSPACE")));
  api::v1::GetGroupsAndUsersAssignedToWorkspaceRequest request;
  request.set_workspace_id(workspace.id());
  api::v1::GetGroupsAndUsersAssignedToWorkspaceResponse response;
  DET_RETURN_IF_ERROR(
      api->Call("RoleService.GetGroupsAndUsersAssignedToWorkspace", request, &response));
  std::map<int, std::string> names;
  for (const api::v1::User& user : response.users_assigned_directly()) {
    names[user.id()] = user.username();
  }
  std::map<int, std::string> groups;
  for (const api::v1::GroupDetails& group : response.groups()) {
    groups[group.group_id()] = group.name();
  }
  Table table({{"USER/GROUP NAME", false, true}, {"USER/GROUP"}, {"ROLE NAME"}});
  for (const api::v1::RoleWithAssignments& each : response.assignments()) {
    for (const api::v1::GroupRoleAssignment& one : each.group_role_assignments()) {
      table.AddRow({groups[one.group_id()], "G", each.role().name()});
    }
    for (const api::v1::UserRoleAssignment& one : each.user_role_assignments()) {
      table.AddRow({names[one.user_id()], "U", each.role().name()});
    }
  }
  return run.PrintList(response, table,
                       absl::StrCat("no user or group has a role in workspace ", workspace.name(),
                                    ", except those with a cluster-wide role"));
}

std::vector<Option> Settings() {
  std::vector<Option> options = AgentUserOptions();
  options.insert(options.end(),
                 {{"checkpoint-storage-config", 0, "JSON",
                   "Checkpoint storage, as checkpoint_storage of a config"},
                  {"checkpoint-storage-config-file", 0, "FILE", "File with the same JSON"},
                  {"default-compute-pool", 0, "POOL", "Default pool for tasks that need slots"},
                  {"default-aux-pool", 0, "POOL", "Default pool for tasks that need no slots"}});
  return options;
}

}  // namespace

absl::StatusOr<Workspace> FindWorkspace(const ApiClient& api, const std::string& name) {
  api::v1::GetWorkspacesRequest request;
  request.set_name_case_sensitive(name);
  api::v1::GetWorkspacesResponse response;
  DET_RETURN_IF_ERROR(api.Call("WorkspaceService.GetWorkspaces", request, &response));
  for (const Workspace& each : response.workspaces()) {
    if (each.name() == name) return each;
  }
  return absl::NotFoundError(absl::StrCat("no workspace \"", name,
                                          "\" that you can view; see `det workspace list --all`"));
}

std::vector<Command> WorkspaceCommands() {
  std::vector<Option> edit = Settings();
  edit.insert(edit.begin(), {"name", 0, "NAME", "New name"});
  return {
      {{"workspace", "list"},
       "List the workspaces that you can view",
       {},
       SortedOptions(PagedOptions({{"all", 'a', "", "Include archived workspaces"}})),
       RunWorkspaceList,
       ""},
      {{"workspace", "describe"},
       "Show a workspace",
       {kOneWorkspace},
       {},
       RunWorkspaceDescribe,
       ""},
      {{"workspace", "create"},
       "Create a workspace and become its administrator",
       {{"NAME", "Workspace name"}},
       Settings(),
       RunWorkspaceCreate,
       ""},
      {{"workspace", "edit"}, "Change a workspace", {kOneWorkspace}, edit, RunWorkspaceEdit, ""},
      {{"workspace", "archive"},
       "Archive a workspace and its projects",
       {kOneWorkspace},
       {},
       RunWorkspaceArchive,
       ""},
      {{"workspace", "unarchive"},
       "Unarchive a workspace",
       {kOneWorkspace},
       {},
       RunWorkspaceUnarchive,
       ""},
      {{"workspace", "delete"},
       "Delete a workspace without experiments, and its projects",
       {kOneWorkspace},
       {kYes},
       RunWorkspaceDelete,
       ""},
      {{"workspace", "list-projects"},
       "List the projects of a workspace",
       {kOneWorkspace},
       SortedOptions(PagedOptions({{"all", 'a', "", "Include archived projects"}})),
       RunListProjects,
       ""},
      {{"workspace", "list-pools"},
       "List the resource pools that a workspace can use",
       {kOneWorkspace},
       {kCsv},
       RunListPools,
       ""},
      {{"workspace", "list-members"},
       "List the members of a workspace and their roles",
       {kOneWorkspace},
       {kCsv},
       RunListMembers,
       ""},
  };
}

}  // namespace det::cli
