// det experiment kill|pause|activate|cancel|archive|unarchive
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/experiment.h"
#include "cli/commands/id_arguments.h"
#include "det/api/v1/experiment.pb.h"

namespace det::cli {
namespace {

// The methods that change a state take an ID and have an empty response.
template <class Request, class Response>
absl::StatusOr<int> CallForExperiments(Invocation& run, const char* method, const char* verb) {
  return ForEachId(run, "EXPERIMENT", "experiment", [&](ApiClient& api, int id) -> absl::Status {
    Request request;
    request.set_id(id);
    Response response;
    DET_RETURN_IF_ERROR(api.Call(absl::StrCat("ExperimentService.", method), request, &response));
    return run.PrintResult(response, absl::StrCat(verb, " experiment ", id, "\n")).status();
  });
}

absl::StatusOr<int> RunExperimentKill(Invocation& run) {
  return CallForExperiments<api::v1::KillExperimentRequest, api::v1::KillExperimentResponse>(
      run, "KillExperiment", "killed");
}

absl::StatusOr<int> RunPause(Invocation& run) {
  return CallForExperiments<api::v1::PauseExperimentRequest, api::v1::PauseExperimentResponse>(
      run, "PauseExperiment", "paused");
}

absl::StatusOr<int> RunExperimentActivate(Invocation& run) {
  return CallForExperiments<api::v1::ActivateExperimentRequest,
                            api::v1::ActivateExperimentResponse>(run, "ActivateExperiment",
                                                                 "activated");
}

absl::StatusOr<int> RunCancel(Invocation& run) {
  return CallForExperiments<api::v1::CancelExperimentRequest, api::v1::CancelExperimentResponse>(
      run, "CancelExperiment", "canceled");
}

absl::StatusOr<int> RunExperimentArchive(Invocation& run) {
  return CallForExperiments<api::v1::ArchiveExperimentRequest, api::v1::ArchiveExperimentResponse>(
      run, "ArchiveExperiment", "archived");
}

absl::StatusOr<int> RunExperimentUnarchive(Invocation& run) {
  return CallForExperiments<api::v1::UnarchiveExperimentRequest,
                            api::v1::UnarchiveExperimentResponse>(run, "UnarchiveExperiment",
                                                                  "unarchived");
}

}  // namespace

std::vector<Command> ExperimentActionCommands() {
  return {
      {{"experiment", "kill"}, "Kill experiments", {kExperiments}, {}, RunExperimentKill, ""},
      {{"experiment", "cancel"},
       "Cancel experiments after their trials save a checkpoint",
       {kExperiments},
       {},
       RunCancel,
       ""},
      {{"experiment", "pause"},
       "Pause experiments and free their slots",
       {kExperiments},
       {},
       RunPause,
       ""},
      {{"experiment", "activate"},
       "Resume paused experiments",
       {kExperiments},
       {},
       RunExperimentActivate,
       ""},
      {{"experiment", "archive"},
       "Archive experiments that have ended; lists hide them",
       {kExperiments},
       {},
       RunExperimentArchive,
       "`det experiment list --all` shows archived experiments."},
      {{"experiment", "unarchive"},
       "Unarchive experiments",
       {kExperiments},
       {},
       RunExperimentUnarchive,
       ""},
  };
}

}  // namespace det::cli
