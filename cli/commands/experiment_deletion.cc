// det experiment archive|unarchive|delete|delete-tb-files, det experiment set gc-policy
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/confirm.h"
#include "cli/commands/experiment.h"
#include "cli/commands/id_arguments.h"
#include "cli/format.h"
#include "cli/table.h"
#include "det/api/v1/experiment.pb.h"

namespace det::cli {
namespace {

absl::StatusOr<api::v1::Experiment> GetExperiment(ApiClient& api, int id) {
  api::v1::GetExperimentRequest request;
  request.set_experiment_id(id);
  api::v1::GetExperimentResponse response;
  DET_RETURN_IF_ERROR(api.Call("ExperimentService.GetExperiment", request, &response));
  return response.experiment();
}

absl::StatusOr<int> RunExperimentDelete(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("EXPERIMENT"));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const api::v1::Experiment experiment, GetExperiment(*api, id));
  DET_RETURN_IF_ERROR(Confirm(
      run, absl::StrCat("Delete experiment ", id, " (", experiment.name(), ") with ",
                        FormatCount(experiment.num_trials(), "trial"), ", ",
                        FormatCount(experiment.checkpoint_count(), "checkpoint"), " (",
                        FormatBytes(experiment.checkpoint_size()), "), logs and metrics?")));
  api::v1::DeleteExperimentRequest request;
  request.set_experiment_id(id);
  api::v1::DeleteExperimentResponse response;
  DET_RETURN_IF_ERROR(api->Call("ExperimentService.DeleteExperiment", request, &response));
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
    return kExitOk;
  }
  run.screen->Print(absl::StrCat("deleting experiment ", id, "\n"));
  PrintKept(run, response.kept());
  return kExitOk;
}

absl::StatusOr<int> RunDeleteTensorboardFiles(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("EXPERIMENT"));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::DeleteTensorboardFilesRequest request;
  request.set_experiment_id(id);
  api::v1::DeleteTensorboardFilesResponse response;
  DET_RETURN_IF_ERROR(api->Call("ExperimentService.DeleteTensorboardFiles", request, &response));
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
  } else {
    run.screen->Print(absl::StrCat("deleted the TensorBoard files of experiment ", id, "\n"));
  }
  return kExitOk;
}

// Sets the policy fields that were given.
template <class Message>
absl::Status ReadPolicy(const Invocation& run, Message* message) {
  const auto read = [&](const char* option) {
    return run.args.GetInt(option, 0, 0, 1'000'000'000);
  };
  if (run.args.Has("save-experiment-best")) {
    DET_ASSIGN_OR_RETURN(const int value, read("save-experiment-best"));
    message->set_save_experiment_best(value);
  }
  if (run.args.Has("save-trial-best")) {
    DET_ASSIGN_OR_RETURN(const int value, read("save-trial-best"));
    message->set_save_trial_best(value);
  }
  if (run.args.Has("save-trial-latest")) {
    DET_ASSIGN_OR_RETURN(const int value, read("save-trial-latest"));
    message->set_save_trial_latest(value);
  }
  return absl::OkStatus();
}

// Shows which checkpoints would be deleted and asks for confirmation.
absl::Status PreviewAndConfirm(Invocation& run, ApiClient& api, int id) {
  api::v1::PreviewRetentionRequest request;
  request.set_id(id);
  DET_RETURN_IF_ERROR(ReadPolicy(run, &request));
  api::v1::PreviewRetentionResponse response;
  DET_RETURN_IF_ERROR(api.Call("ExperimentService.PreviewRetention", request, &response));
  const int count = response.checkpoints_size();
  if (count == 0) {
    run.screen->PrintNotice(absl::StrCat("no checkpoint of experiment ", id, " would be deleted; ",
                                         FormatCount(response.kept(), "checkpoint"),
                                         " would be kept"));
  } else {
    std::string table = CheckpointTable(response.checkpoints()).Render(run.screen->err());
    table.pop_back();  // without its newline
    run.screen->PrintNotice(table);
  }
  return Confirm(run, absl::StrCat("Delete ", FormatCount(count, "checkpoint"), " of experiment ",
                                   id, " and keep ", response.kept(), "?"));
}

absl::StatusOr<int> RunSetPolicy(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("EXPERIMENT"));
  api::v1::PatchExperimentRequest request;
  request.mutable_experiment()->set_id(id);
  DET_RETURN_IF_ERROR(ReadPolicy(run, request.mutable_experiment()->mutable_checkpoint_storage()));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  if (!run.args.Has("yes")) DET_RETURN_IF_ERROR(PreviewAndConfirm(run, *api, id));
  api::v1::PatchExperimentResponse response;
  DET_RETURN_IF_ERROR(api->Call("ExperimentService.PatchExperiment", request, &response));
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
  } else {
    run.screen->Print(absl::StrCat("set gc-policy of experiment ", id, "\n"));
  }
  return kExitOk;
}

}  // namespace

std::vector<Command> ExperimentDeletionCommands() {
  return {
      {{"experiment", "delete"},
       "Delete an ended experiment with its checkpoints, logs and metrics",
       {kOneExperiment},
       {kYes},
       RunExperimentDelete,
       "Checkpoints that other experiments start from are kept."},
      {{"experiment", "delete-tb-files"},
       "Delete the TensorBoard files of an ended experiment",
       {kOneExperiment},
       {},
       RunDeleteTensorboardFiles,
       "It asks for no confirmation, because existing scripts call it. Metrics, logs and "
       "checkpoints are kept."},
      {{"experiment", "set", "gc-policy"},
       "Set which checkpoints of an experiment are kept",
       {kOneExperiment},
       {{"save-experiment-best", 0, "N", "Checkpoints to keep: the N best of all trials"},
        {"save-trial-best", 0, "N", "Checkpoints to keep: the N best of each trial"},
        {"save-trial-latest", 0, "N", "Checkpoints to keep: the N latest of each trial"},
        kYes},
       RunSetPolicy,
       "Omitted options keep their values. The command shows what would be deleted and asks for "
       "confirmation. If the experiment is running, checkpoints are deleted when it ends."},
  };
}

}  // namespace det::cli
