#include "master/api/common/project_resolver.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace det::api {
namespace {

absl::StatusOr<ResolvedProject> CheckNotArchived(store::Store& store,
                                                 const store::ProjectRecord& project) {
  DET_ASSIGN_OR_RETURN(store::WorkspaceRecord workspace,
                       store.workspaces().GetWorkspaceSettings(project.workspace));
  if (workspace.archived) return store::WorkspaceIsArchived(workspace.name);
  if (workspace.state != store::WorkspaceState::kLive ||
      project.state != store::WorkspaceState::kLive) {
    return absl::FailedPreconditionError(absl::StrCat("project \"", project.name,
                                                      "\" of workspace \"", workspace.name,
                                                      "\" is being deleted; use another"));
  }
  if (project.archived) {
    return absl::FailedPreconditionError(absl::StrCat("project \"", project.name,
                                                      "\" of workspace \"", workspace.name,
                                                      "\" is archived and cannot add new "
                                                      "experiments; unarchive it first"));
  }
  cluster::ProjectRef project_ref{workspace.id, project.id, workspace.name, project.name};
  return ResolvedProject{std::move(project_ref), std::move(workspace)};
}

}  // namespace

absl::StatusOr<ResolvedProject> ResolveProject(store::Store& store, int32_t project) {
  DET_ASSIGN_OR_RETURN(const store::ProjectRecord record,
                       store.projects().GetProjectSettings(project));
  return CheckNotArchived(store, record);
}

absl::StatusOr<ResolvedProject> ResolveProject(store::Store& store, const std::string& workspace,
                                               const std::string& project) {
  if (workspace.empty()) return ResolveProject(store, store::kUncategorized);
  DET_ASSIGN_OR_RETURN(const store::WorkspacePage in,
                       store.workspaces().ListWorkspaces({.exact_name = workspace}));
  if (in.workspaces.empty()) {
    return absl::NotFoundError(absl::StrCat("workspace \"", workspace,
                                            "\" not found; `det workspace list` lists them, ",
                                            "`det workspace create` creates one"));
  }
  DET_ASSIGN_OR_RETURN(const store::ProjectPage found,
                       store.projects().ListProjects(
                           {.workspace = in.workspaces.front().id, .exact_name = project}));
  if (found.projects.empty()) {
    return absl::NotFoundError(absl::StrCat("project \"", project, "\" not found in workspace \"",
                                            workspace, "\"; `det project list` lists them, ",
                                            "`det project create` creates one"));
  }
  return CheckNotArchived(store, found.projects.front());
}

absl::Status CheckProjectIsVisible(store::Store& store, int32_t project,
                                   const std::optional<std::vector<int32_t>>& visible) {
  DET_ASSIGN_OR_RETURN(const int32_t workspace, store.projects().GetProjectWorkspaceId(project));
  const bool found = !visible || std::count(visible->begin(), visible->end(), workspace) > 0;
  return found ? absl::OkStatus() : store::NoSuchProject(project);
}

}  // namespace det::api
