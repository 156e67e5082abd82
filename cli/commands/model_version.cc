// det model list-versions|register-version|delete-version
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/confirm.h"
#include "cli/commands/model.h"
#include "cli/commands/paging.h"
#include "cli/format.h"
#include "cli/table.h"
#include "det/api/v1/model.pb.h"

namespace det::cli {
namespace {

using api::v1::ModelVersion;

absl::StatusOr<int> RunListVersions(Invocation& run) {
  api::v1::GetModelVersionsRequest request;
  request.set_model_name(run.args.Word("MODEL"));
  DET_ASSIGN_OR_RETURN(const Page page, ReadPage(run));
  request.set_limit(page.limit);
  request.set_offset(page.offset);
  DET_ASSIGN_OR_RETURN(const api::v1::OrderBy order, ReadOrder(run, api::v1::ORDER_BY_DESC));
  request.set_order_by(order);
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetModelVersionsResponse response;
  DET_RETURN_IF_ERROR(api->Call("ModelService.GetModelVersions", request, &response));
  Table table({{"VERSION", true},
               {"NAME", false, true},
               {"CHECKPOINT"},
               {"EXPERIMENT", true},
               {"TRIAL", true},
               {"CREATED"},
               {"OWNER", false, true},
               {"COMMENT", false, true}});
  for (const ModelVersion& each : response.model_versions()) {
    table.AddRow({absl::StrCat(each.version()), each.name(), each.checkpoint().uuid(),
                  absl::StrCat(each.checkpoint().training().experiment_id()),
                  absl::StrCat(each.checkpoint().training().trial_id()),
                  MakeAgeCell(each.creation_time(), absl::Now()), each.username(), each.comment()});
  }
  return PrintPage(run, response, response.pagination(), table, "versions",
                   absl::StrCat("model ", response.model().name(),
                                " has no versions; create one: det model register-version ",
                                request.model_name(), " CHECKPOINT"));
}

absl::StatusOr<int> RunRegister(Invocation& run) {
  api::v1::PostModelVersionRequest request;
  request.set_model_name(run.args.Word("MODEL"));
  request.set_checkpoint_uuid(run.args.Word("CHECKPOINT"));
  request.set_name(run.args.Get("name").value_or(""));
  request.set_comment(run.args.Get("comment").value_or(""));
  DET_RETURN_IF_ERROR(ReadModelSettings(run, &request));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::PostModelVersionResponse response;
  DET_RETURN_IF_ERROR(api->Call("ModelService.PostModelVersion", request, &response));
  const ModelVersion& version = response.model_version();
  return run.PrintResult(
      response,
      absl::StrCat("registered version ", version.version(), " of model ", version.model().name(),
                   ": checkpoint ", version.checkpoint().uuid(), "\n"));
}

absl::StatusOr<int> RunDeleteVersion(Invocation& run) {
  api::v1::DeleteModelVersionRequest request;
  request.set_model_name(run.args.Word("MODEL"));
  DET_ASSIGN_OR_RETURN(const int number, run.args.Id("VERSION"));
  request.set_model_version_num(number);
  const std::string which = absl::StrCat("version ", number, " of model ", request.model_name());
  DET_RETURN_IF_ERROR(Confirm(run, absl::StrCat("Delete ", which, "? Its checkpoint is kept.")));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::DeleteModelVersionResponse response;
  DET_RETURN_IF_ERROR(api->Call("ModelService.DeleteModelVersion", request, &response));
  return run.PrintResult(response, absl::StrCat("deleted ", which, "\n"));
}

}  // namespace

std::vector<Command> ModelVersionCommands() {
  return {
      {{"model", "list-versions"},
       "List the versions of a model, newest first",
       {kModel},
       PagedOptions({kOrder}),
       RunListVersions,
       ""},
      {{"model", "register-version"},
       "Register a checkpoint as the next version of a model",
       {kModel, {"CHECKPOINT", "Checkpoint UUID"}},
       {{"name", 0, "NAME", "Version name"},
        {"comment", 0, "TEXT", "Comment on the version"},
        {"label", 0, "LABEL", "Label of the version; repeatable"},
        {"metadata", 0, "JSON", "Metadata as a JSON object"}},
       RunRegister,
       "A registered checkpoint cannot be deleted as long as the version exists."},
      {{"model", "delete-version"},
       "Delete a version of a model; its checkpoint is kept",
       {kModel, {"VERSION", "Version number"}},
       {kYes},
       RunDeleteVersion,
       ""},
  };
}

}  // namespace det::cli
