// det config-policies describe|set|delete
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/workspace.h"
#include "det/api/v1/config_policy.pb.h"

namespace det::cli {
namespace {

const Positional kWorkload = {"WORKLOAD",
                              "Workload type: experiment, or tasks (commands, notebooks)"};
const Option kOfWorkspace = {"workspace-name", 'w', "NAME",
                             "Policy of this workspace (default: of the cluster)"};

absl::StatusOr<std::string> ReadWorkload(const Invocation& run) {
  const std::string word = run.args.Word("WORKLOAD");
  if (word == "experiment") return std::string("EXPERIMENT");
  if (word == "tasks") return std::string("NTSC");
  return UsageError(absl::StrCat("WORKLOAD: expected experiment or tasks, found \"", word, "\""));
}

// Calls the method for a workspace or for the cluster. `fill` completes either request.
template <class Global, class GlobalResponse, class InWorkspace, class InWorkspaceResponse>
absl::StatusOr<int> Call(Invocation& run, const char* verb, const auto& fill, const auto& print) {
  DET_ASSIGN_OR_RETURN(const std::string workload, ReadWorkload(run));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  const auto call = [&](auto request, auto response, const char* scope) -> absl::StatusOr<int> {
    request.set_workload_type(workload);
    fill(request);
    DET_RETURN_IF_ERROR(api->Call(
        absl::StrCat("ConfigPolicyService.", verb, scope, "ConfigPolicies"), request, &response));
    return print(response);
  };
  const auto name = run.args.Get("workspace-name");
  if (!name) return call(Global(), GlobalResponse(), "Global");
  DET_ASSIGN_OR_RETURN(const auto workspace, FindWorkspace(*api, *name));
  InWorkspace request;
  request.set_workspace_id(workspace.id());
  return call(std::move(request), InWorkspaceResponse(), "Workspace");
}

absl::StatusOr<int> RunPoliciesDescribe(Invocation& run) {
  const auto print = [&](const auto& response) -> absl::StatusOr<int> {
    if (run.json()) {
      DET_RETURN_IF_ERROR(run.PrintJson(response));
    } else if (response.config_policies().fields().empty()) {
      run.screen->PrintNotice("no policy; create one: det config-policies set WORKLOAD FILE");
    } else {
      DET_RETURN_IF_ERROR(run.PrintJson(response.config_policies()));
    }
    return kExitOk;
  };
  using namespace api::v1;  // NOLINT
  return Call<GetGlobalConfigPoliciesRequest, GetGlobalConfigPoliciesResponse,
              GetWorkspaceConfigPoliciesRequest, GetWorkspaceConfigPoliciesResponse>(
      run, "Get", [](auto&) {}, print);
}

absl::StatusOr<int> RunPoliciesSet(Invocation& run) {
  const absl::StatusOr<std::string> text = base::ReadFile(run.args.Word("FILE"));
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("policy: ", text.status().message()));
  }
  using namespace api::v1;  // NOLINT
  return Call<PutGlobalConfigPoliciesRequest, PutGlobalConfigPoliciesResponse,
              PutWorkspaceConfigPoliciesRequest, PutWorkspaceConfigPoliciesResponse>(
      run, "Put", [&](auto& request) { request.set_config_policies(*text); },
      [&](const auto& response) { return run.PrintResult(response, "set the policy\n"); });
}

absl::StatusOr<int> RunPoliciesDelete(Invocation& run) {
  using namespace api::v1;  // NOLINT
  return Call<DeleteGlobalConfigPoliciesRequest, DeleteGlobalConfigPoliciesResponse,
              DeleteWorkspaceConfigPoliciesRequest, DeleteWorkspaceConfigPoliciesResponse>(
      run, "Delete", [](auto&) {},
      [&](const auto& response) { return run.PrintResult(response, "deleted the policy\n"); });
}

}  // namespace

std::vector<Command> ConfigPoliciesCommands() {
  return {
      {{"config-policies", "describe"},
       "Show a config policy",
       {kWorkload},
       {kOfWorkspace},
       RunPoliciesDescribe,
       ""},
      {{"config-policies", "set"},
       "Set a config policy, replacing the previous one",
       {kWorkload, {"FILE", "YAML file with invariant_config and constraints"}},
       {kOfWorkspace},
       RunPoliciesSet,
       "The cluster's policy takes precedence over a workspace's (docs/config_policies.md)."},
      {{"config-policies", "delete"},
       "Delete a config policy",
       {kWorkload},
       {kOfWorkspace},
       RunPoliciesDelete,
       ""},
  };
}

}  // namespace det::cli
