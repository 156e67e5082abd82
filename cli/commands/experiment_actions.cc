// det experiment kill|pause|activate|cancel|archive|unarchive
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/each.h"
#include "cli/commands/experiment.h"
#include "det/api/v1/experiment.pb.h"

namespace det::cli {
namespace {

// The methods that change a state all take an id and answer nothing.
template <class Request, class Response>
absl::StatusOr<int> AskOfExperiment(Invocation& run, const char* method, const char* said) {
  return ForEachId(run, "EXPERIMENT", "experiment", [&](ApiClient& api, int id) -> absl::Status {
    Request request;
    request.set_id(id);
    Response response;
    DET_RETURN_IF_ERROR(api.Call(absl::StrCat("ExperimentService.", method), request, &response));
    return run.Say(response, absl::StrCat(said, " experiment ", id, "\n")).status();
  });
}

absl::StatusOr<int> RunExperimentKill(Invocation& run) {
  return AskOfExperiment<api::v1::KillExperimentRequest, api::v1::KillExperimentResponse>(
      run, "KillExperiment", "killed");
}

absl::StatusOr<int> RunPause(Invocation& run) {
  return AskOfExperiment<api::v1::PauseExperimentRequest, api::v1::PauseExperimentResponse>(
      run, "PauseExperiment", "paused");
}

absl::StatusOr<int> RunExperimentActivate(Invocation& run) {
  return AskOfExperiment<api::v1::ActivateExperimentRequest, api::v1::ActivateExperimentResponse>(
      run, "ActivateExperiment", "activated");
}

absl::StatusOr<int> RunCancel(Invocation& run) {
  return AskOfExperiment<api::v1::CancelExperimentRequest, api::v1::CancelExperimentResponse>(
      run, "CancelExperiment", "canceled");
}

absl::StatusOr<int> RunExperimentArchive(Invocation& run) {
  return AskOfExperiment<api::v1::ArchiveExperimentRequest, api::v1::ArchiveExperimentResponse>(
      run, "ArchiveExperiment", "archived");
}

absl::StatusOr<int> RunExperimentUnarchive(Invocation& run) {
  return AskOfExperiment<api::v1::UnarchiveExperimentRequest, api::v1::UnarchiveExperimentResponse>(
      run, "UnarchiveExperiment", "unarchived");
}

}  // namespace

std::vector<Command> ExperimentActionCommands() {
  return {
      {{"experiment", "kill"},
       "end an experiment at once",
       {kExperiments},
       {},
       RunExperimentKill,
       ""},
      {{"experiment", "cancel"},
       "end an experiment after its trials saved a checkpoint",
       {kExperiments},
       {},
       RunCancel,
       ""},
      {{"experiment", "pause"},
       "free the slots of an experiment; it goes on from its checkpoints",
       {kExperiments},
       {},
       RunPause,
       ""},
      {{"experiment", "activate"},
       "let a paused experiment go on",
       {kExperiments},
       {},
       RunExperimentActivate,
       ""},
      {{"experiment", "archive"},
       "hide an experiment that has ended from lists",
       {kExperiments},
       {},
       RunExperimentArchive,
       "`det experiment list --all` shows it."},
      {{"experiment", "unarchive"},
       "show an archived experiment in lists again",
       {kExperiments},
       {},
       RunExperimentUnarchive,
       ""},
  };
}

}  // namespace det::cli
