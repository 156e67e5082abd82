// det resource-pool bindings add|remove|replace|list-workspaces
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/table.h"
#include "det/api/v1/resource_pool.pb.h"

namespace det::cli {
namespace {

template <class Request, class Response>
absl::StatusOr<int> Bind(Invocation& run, const char* method, const char* verb) {
  Request request;
  request.set_resource_pool_name(run.args.Word("POOL"));
  for (const std::string& name : run.args.Words("WORKSPACE")) request.add_workspace_names(name);
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  Response response;
  DET_RETURN_IF_ERROR(api->Call(absl::StrCat("ResourcePoolService.", method), request, &response));
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
  } else {
    run.screen->Print(absl::StrCat(verb, " pool ", request.resource_pool_name(), ": ",
                                   absl::StrJoin(request.workspace_names(), ", "), "\n"));
  }
  return kExitOk;
}

absl::StatusOr<int> RunAdd(Invocation& run) {
  return Bind<api::v1::BindRPToWorkspaceRequest, api::v1::BindRPToWorkspaceResponse>(
      run, "BindRPToWorkspace", "bound");
}

absl::StatusOr<int> RunBindingRemove(Invocation& run) {
  return Bind<api::v1::UnbindRPFromWorkspaceRequest, api::v1::UnbindRPFromWorkspaceResponse>(
      run, "UnbindRPFromWorkspace", "unbound");
}

absl::StatusOr<int> RunReplace(Invocation& run) {
  return Bind<api::v1::OverwriteRPWorkspaceBindingsRequest,
              api::v1::OverwriteRPWorkspaceBindingsResponse>(run, "OverwriteRPWorkspaceBindings",
                                                             "replaced the bindings of");
}

absl::StatusOr<int> RunListWorkspaces(Invocation& run) {
  api::v1::ListWorkspacesBoundToRPRequest request;
  request.set_resource_pool_name(run.args.Word("POOL"));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::ListWorkspacesBoundToRPResponse response;
  DET_RETURN_IF_ERROR(api->Call("ResourcePoolService.ListWorkspacesBoundToRP", request, &response));
  Table table({{"WORKSPACE", false, true}});
  for (const std::string& name : response.workspace_names()) table.AddRow({Cell(name)});
  return run.PrintList(response, table,
                       absl::StrCat("pool ", request.resource_pool_name(),
                                    " has no bindings: all workspaces can use it"));
}

}  // namespace

std::vector<Command> BindingCommands() {
  const Positional pool = {"POOL", "Resource pool name"};
  const Positional workspaces = {"WORKSPACE", "Workspace names", false, true};
  return {
      {{"resource-pool", "bindings", "add"},
       "Bind a pool to workspaces; other workspaces can no longer use it",
       {pool, workspaces},
       {},
       RunAdd,
       ""},
      {{"resource-pool", "bindings", "remove"},
       "Unbind a pool from workspaces; with no binding left, all can use it",
       {pool, workspaces},
       {},
       RunBindingRemove,
       ""},
      {{"resource-pool", "bindings", "replace"},
       "Replace the workspace bindings of a pool",
       {pool, workspaces},
       {},
       RunReplace,
       ""},
      {{"resource-pool", "bindings", "list-workspaces"},
       "List the workspaces that a pool is bound to",
       {pool},
       {kCsv},
       RunListWorkspaces,
       ""},
  };
}

}  // namespace det::cli
