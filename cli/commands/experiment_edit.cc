// det experiment move, det experiment label add|remove, det experiment set name|description
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/experiment.h"
#include "cli/commands/id_arguments.h"
#include "cli/commands/workspace.h"
#include "det/api/v1/experiment.pb.h"

namespace det::cli {
namespace {

absl::StatusOr<int> RunExperimentMove(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("EXPERIMENT"));
  const std::string workspace = run.args.Word("WORKSPACE");
  const std::string project = run.args.Word("PROJECT");
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const api::v1::Project target, FindProject(*api, workspace, project));
  api::v1::MoveExperimentRequest request;
  request.set_experiment_id(id);
  request.set_destination_project_id(target.id());
  api::v1::MoveExperimentResponse response;
  DET_RETURN_IF_ERROR(api->Call("ExperimentService.MoveExperiment", request, &response));
  return run.PrintResult(
      response, absl::StrCat("moved experiment ", id, " to ", workspace, "/", project, "\n"));
}

template <class Request, class Response>
absl::StatusOr<int> Label(Invocation& run, const char* method) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("EXPERIMENT"));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  Request request;
  request.set_experiment_id(id);
  request.set_label(run.args.Word("LABEL"));
  Response response;
  DET_RETURN_IF_ERROR(api->Call(absl::StrCat("ExperimentService.", method), request, &response));
  const std::string labels = absl::StrJoin(response.labels(), ", ");
  return run.PrintResult(response, absl::StrCat("labels of experiment ", id, ": ",
                                                labels.empty() ? "none" : labels, "\n"));
}

absl::StatusOr<int> RunAddLabel(Invocation& run) {
  return Label<api::v1::PutExperimentLabelRequest, api::v1::PutExperimentLabelResponse>(
      run, "PutExperimentLabel");
}

absl::StatusOr<int> RunRemoveLabel(Invocation& run) {
  return Label<api::v1::DeleteExperimentLabelRequest, api::v1::DeleteExperimentLabelResponse>(
      run, "DeleteExperimentLabel");
}

absl::StatusOr<int> Patch(Invocation& run, api::v1::PatchExperimentRequest request,
                          const char* what) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("EXPERIMENT"));
  request.mutable_experiment()->set_id(id);
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::PatchExperimentResponse response;
  DET_RETURN_IF_ERROR(api->Call("ExperimentService.PatchExperiment", request, &response));
  return run.PrintResult(response, absl::StrCat("set ", what, " of experiment ", id, "\n"));
}

absl::StatusOr<int> RunSetName(Invocation& run) {
  api::v1::PatchExperimentRequest request;
  request.mutable_experiment()->set_name(run.args.Word("NAME"));
  return Patch(run, request, "name");
}

absl::StatusOr<int> RunSetDescription(Invocation& run) {
  api::v1::PatchExperimentRequest request;
  request.mutable_experiment()->set_description(run.args.Word("TEXT"));
  return Patch(run, request, "description");
}

}  // namespace

std::vector<Command> ExperimentEditCommands() {
  const Positional label = {"LABEL", "Label text"};
  return {
      {{"experiment", "move"},
       "Move an experiment to another project",
       {kOneExperiment, {"WORKSPACE", "Workspace name"}, {"PROJECT", "Project name"}},
       {},
       RunExperimentMove,
       ""},
      {{"experiment", "label", "add"},
       "Add a label to an experiment",
       {kOneExperiment, label},
       {},
       RunAddLabel,
       ""},
      {{"experiment", "label", "remove"},
       "Remove a label from an experiment",
       {kOneExperiment, label},
       {},
       RunRemoveLabel,
       ""},
      {{"experiment", "set", "name"},
       "Rename an experiment",
       {kOneExperiment, {"NAME", "New name"}},
       {},
       RunSetName,
       ""},
      {{"experiment", "set", "description"},
       "Set the description of an experiment",
       {kOneExperiment, {"TEXT", "Description text"}},
       {},
       RunSetDescription,
       ""},
  };
}

}  // namespace det::cli
