// det project list|describe|create|edit|archive|unarchive|delete|list-experiments
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/confirm.h"
#include "cli/commands/paging.h"
#include "cli/commands/workspace.h"
#include "cli/format.h"
#include "cli/table.h"
#include "det/api/v1/project.pb.h"

namespace det::cli {
namespace {

using api::v1::Project;

const std::vector<Positional>& GetProjectPositionals() {
  static const auto& which =
      *new std::vector<Positional>{{"WORKSPACE", "Workspace name"}, {"PROJECT", "Project name"}};
  return which;
}

absl::StatusOr<Project> ReadProject(Invocation& run, const ApiClient& api) {
  return FindProject(api, run.args.Word("WORKSPACE"), run.args.Word("PROJECT"));
}

absl::StatusOr<int> RunProjectList(Invocation& run) {
  return ListProjects(run, run.args.Word("WORKSPACE"));
}

std::string Description(const Project& project, const Style& style) {
  std::vector<std::pair<std::string, Cell>> fields = {
      {"project", absl::StrCat(project.id(), "  ", project.name())},
      {"key", project.key()},
      {"workspace", project.workspace_name()}};
  if (project.archived()) fields.emplace_back("archived", "yes");
  if (!project.description().empty()) fields.emplace_back("description", project.description());
  fields.emplace_back("owner", project.username());
  fields.emplace_back("experiments", absl::StrCat(project.num_experiments(), ", ",
                                                  project.num_active_experiments(), " active"));
  fields.emplace_back("last started", FormatTimestamp(project.last_experiment_started_at()));
  std::string text = RenderFields(fields, style);
  for (const api::v1::Note& note : project.notes()) {
    absl::StrAppend(&text, "\n",
                    ApplyPaint(RemoveControlCharacters(note.name()), Paint::kBold, style), "\n",
                    absl::StripTrailingAsciiWhitespace(note.contents()), "\n");
  }
  return text;
}

absl::StatusOr<int> RunProjectDescribe(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetProjectResponse response;
  DET_ASSIGN_OR_RETURN(*response.mutable_project(), ReadProject(run, *api));
  return run.PrintResult(response, Description(response.project(), run.screen->out()));
}

absl::StatusOr<int> RunProjectCreate(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const api::v1::Workspace workspace,
                       FindWorkspace(*api, run.args.Word("WORKSPACE")));
  api::v1::PostProjectRequest request;
  request.set_workspace_id(workspace.id());
  request.set_name(run.args.Word("NAME"));
  request.set_description(run.args.Get("description").value_or(""));
  request.set_key(run.args.Get("key").value_or(""));
  api::v1::PostProjectResponse response;
  DET_RETURN_IF_ERROR(api->Call("ProjectService.PostProject", request, &response));
  const int id = response.project().id();
  DET_ASSIGN_OR_RETURN(const int code,
                       run.PrintResult(response, absl::StrCat("created project ", request.name(),
                                                              " (id ", id, ")\n")));
  if (!run.json()) {
    run.screen->PrintHint(
        absl::StrCat("det experiment create --project-id ", id, " CONFIG CONTEXT_DIR"));
  }
  return code;
}

absl::StatusOr<int> RunProjectEdit(Invocation& run) {
  api::v1::PatchProjectRequest request;
  api::v1::PatchProject& change = *request.mutable_project();
  if (const auto name = run.args.Get("new-name")) change.set_name(*name);
  if (const auto text = run.args.Get("description")) change.set_description(*text);
  if (const auto key = run.args.Get("key")) change.set_key(*key);
  if (change.ByteSizeLong() == 0) {
    return UsageError("project edit needs one of --new-name, --description and --key");
  }
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const Project project, ReadProject(run, *api));
  request.set_id(project.id());
  api::v1::PatchProjectResponse response;
  DET_RETURN_IF_ERROR(api->Call("ProjectService.PatchProject", request, &response));
  return run.PrintResult(response, absl::StrCat("changed project ", project.name(), "\n"));
}

template <class Request, class Response>
absl::StatusOr<int> CallForProject(Invocation& run, const char* method, const char* done) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const Project project, ReadProject(run, *api));
  Request request;
  request.set_id(project.id());
  Response response;
  DET_RETURN_IF_ERROR(api->Call(absl::StrCat("ProjectService.", method), request, &response));
  return run.PrintResult(response, absl::StrCat(done, " project ", project.name(), "\n"));
}

absl::StatusOr<int> RunProjectArchive(Invocation& run) {
  return CallForProject<api::v1::ArchiveProjectRequest, api::v1::ArchiveProjectResponse>(
      run, "ArchiveProject", "archived");
}

absl::StatusOr<int> RunProjectUnarchive(Invocation& run) {
  return CallForProject<api::v1::UnarchiveProjectRequest, api::v1::UnarchiveProjectResponse>(
      run, "UnarchiveProject", "unarchived");
}

absl::StatusOr<int> RunProjectDelete(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const Project project, ReadProject(run, *api));
  // The master would delete the experiments; here they are deleted or moved by ID.
  if (project.num_experiments() > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "project ", project.name(), " has ", FormatCount(project.num_experiments(), "experiment"),
        "; delete or move them first (`det project list-experiments ", run.args.Word("WORKSPACE"),
        " ", project.name(), " --all`)"));
  }
  DET_RETURN_IF_ERROR(Confirm(run, absl::StrCat("Delete project ", project.name(), "?")));
  api::v1::DeleteProjectRequest request;
  request.set_id(project.id());
  api::v1::DeleteProjectResponse response;
  DET_RETURN_IF_ERROR(api->Call("ProjectService.DeleteProject", request, &response));
  return run.PrintResult(response, absl::StrCat(response.completed() ? "deleted" : "deleting",
                                                " project ", project.name(), "\n"));
}

absl::StatusOr<int> RunListExperiments(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const Project project, ReadProject(run, *api));
  api::v1::GetExperimentsRequest request;
  request.set_project_id(project.id());
  return ListExperiments(run, std::move(request));
}

}  // namespace

absl::StatusOr<Project> FindProject(const ApiClient& api, const std::string& workspace,
                                    const std::string& name) {
  DET_ASSIGN_OR_RETURN(const api::v1::Workspace within, FindWorkspace(api, workspace));
  api::v1::GetWorkspaceProjectsRequest request;
  request.set_id(within.id());
  request.set_name(name);
  api::v1::GetWorkspaceProjectsResponse response;
  DET_RETURN_IF_ERROR(api.Call("WorkspaceService.GetWorkspaceProjects", request, &response));
  for (const Project& each : response.projects()) {
    if (each.name() == name) return each;
  }
  return absl::NotFoundError(absl::StrCat("workspace ", workspace, " has no project \"", name,
                                          "\"; see `det project list --all ", workspace, "`"));
}

absl::StatusOr<int> ListProjects(Invocation& run, const std::string& workspace) {
  api::v1::GetWorkspaceProjectsRequest request;
  DET_ASSIGN_OR_RETURN(const Page page, ReadPage(run));
  request.set_limit(page.limit);
  request.set_offset(page.offset);
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const api::v1::Workspace within, FindWorkspace(*api, workspace));
  request.set_id(within.id());
  DET_ASSIGN_OR_RETURN(const NameOrder order, ReadNameOrder(run, api::v1::ORDER_BY_ASC));
  if (run.args.Has("sort-by") || run.args.Has("order-by")) {
    request.set_sort_by(order.by_name ? api::v1::GetWorkspaceProjectsRequest::SORT_BY_NAME
                                      : api::v1::GetWorkspaceProjectsRequest::SORT_BY_ID);
    request.set_order_by(order.order);
  }
  const bool all = run.args.Has("all");
  if (!all) request.set_archived(false);
  api::v1::GetWorkspaceProjectsResponse response;
  DET_RETURN_IF_ERROR(api->Call("WorkspaceService.GetWorkspaceProjects", request, &response));
  std::vector<Column> columns = {{"ID", true},
                                 {"NAME", false, true},
                                 {"KEY"},
                                 {"EXPERIMENTS", true},
                                 {"ACTIVE", true},
                                 {"LAST STARTED"},
                                 {"OWNER", false, true},
                                 {"DESCRIPTION", false, true}};
  if (all) columns.push_back({"ARCHIVED"});
  Table table(std::move(columns));
  for (const Project& each : response.projects()) {
    std::vector<Cell> row = {absl::StrCat(each.id()),
                             each.name(),
                             each.key(),
                             absl::StrCat(each.num_experiments()),
                             absl::StrCat(each.num_active_experiments()),
                             MakeAgeCell(each.last_experiment_started_at(), absl::Now()),
                             each.username(),
                             each.description()};
    if (all) row.push_back(each.archived() ? "yes" : "no");
    table.AddRow(std::move(row));
  }
  return PrintPage(run, response, response.pagination(), table, "projects",
                   absl::StrCat("no projects in ", workspace, "; create one: det project create ",
                                workspace, " NAME"));
}

std::vector<Command> ProjectCommands() {
  const Positional workspace = GetProjectPositionals()[0];
  const Option description = {"description", 0, "TEXT", "Description of the project"};
  const Option key = {"key", 0, "KEY", "Short name of at most five letters and digits"};
  return {
      {{"project", "list"},
       "List the projects of a workspace",
       {workspace},
       SortedOptions(PagedOptions({{"all", 'a', "", "Include archived projects"}})),
       RunProjectList,
       ""},
      {{"project", "describe"},
       "Show a project and its notes",
       GetProjectPositionals(),
       {},
       RunProjectDescribe,
       ""},
      {{"project", "create"},
       "Create a project in a workspace",
       {workspace, {"NAME", "Project name"}},
       {description, key},
       RunProjectCreate,
       ""},
      {{"project", "edit"},
       "Change the name, description or key of a project",
       GetProjectPositionals(),
       {{"new-name", 0, "NAME", "New name"}, description, key},
       RunProjectEdit,
       ""},
      {{"project", "archive"},
       "Archive a project; no experiments can be created in it",
       GetProjectPositionals(),
       {},
       RunProjectArchive,
       ""},
      {{"project", "unarchive"},
       "Unarchive a project",
       GetProjectPositionals(),
       {},
       RunProjectUnarchive,
       ""},
      {{"project", "delete"},
       "Delete a project without experiments",
       GetProjectPositionals(),
       {kYes},
       RunProjectDelete,
       ""},
      {{"project", "list-experiments"},
       "List the experiments of a project",
       GetProjectPositionals(),
       SortedOptions(ListExperimentsOptions()),
       RunListExperiments,
       ""},
  };
}

}  // namespace det::cli
