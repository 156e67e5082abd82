// det tensorboard start|open, and the verbs that all kinds of tasks share
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/service_address.h"
#include "cli/commands/task_kind.h"
#include "cli/task_readiness.h"
#include "det/api/v1/command.pb.h"

namespace det::cli {
namespace {

constexpr TaskKind kTensorboard = {"tensorboard", "Tensorboard", "TENSORBOARD"};

// Waits until the TensorBoard serves, prints its address and opens it.
absl::StatusOr<int> OpenTensorboard(Invocation& run, const ApiClient& api, const std::string& id) {
  DET_RETURN_IF_ERROR(WaitUntilReady(api, kTensorboard.name, id, run.screen));
  api::v1::CommandRequest request;
  request.set_id(id);
  api::v1::GetTensorboardResponse response;
  DET_RETURN_IF_ERROR(api.Call("CommandService.GetTensorboard", request, &response));
  ShowService(run, api, "Tensorboard", response.tensorboard().service_address());
  return kExitOk;
}

absl::Status AddTrials(const Invocation& run, api::v1::LaunchCommandRequest* request) {
  for (const std::string& word : run.args.GetAll("trial-ids")) {
    for (const absl::string_view each : absl::StrSplit(word, ',')) {
      int id = 0;
      if (!absl::SimpleAtoi(each, &id) || id < 1) {
        return UsageError(
            absl::StrCat("--trial-ids: expected IDs such as 42, found \"", word, "\""));
      }
      request->add_trial_ids(id);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int> RunTensorboardStart(Invocation& run) {
  std::vector<int> experiments;
  if (!run.args.Words("EXPERIMENT").empty()) {
    DET_ASSIGN_OR_RETURN(experiments, run.args.Ids("EXPERIMENT"));
  }
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(api::v1::LaunchCommandRequest request, MakeLaunchRequest(run, *api));
  for (const int id : experiments) request.add_experiment_ids(id);
  DET_RETURN_IF_ERROR(AddTrials(run, &request));
  if (request.experiment_ids().empty() && request.trial_ids().empty()) {
    return UsageError("tensorboard start: expected IDs of experiments, or of trials with -t");
  }
  DET_ASSIGN_OR_RETURN(const LaunchedTask launched, LaunchTask(run, *api, kTensorboard, request));
  DET_ASSIGN_OR_RETURN(const bool open, PrintLaunched(run, kTensorboard, launched));
  return open ? OpenTensorboard(run, *api, launched.task.id()) : kExitOk;
}

absl::StatusOr<int> RunTensorboardOpen(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const std::string id,
                       CompleteTaskId(*api, kTensorboard, run.args.Word("TENSORBOARD")));
  return OpenTensorboard(run, *api, id);
}

}  // namespace

std::vector<Command> TensorboardCommands() {
  std::vector<Option> options = LaunchOptions("Print the ID and do not wait");
  options.push_back(kNoBrowser);
  options.push_back({.name = "trial-ids",
                     .letter = 't',
                     .value = "TRIAL",
                     .help = "Trials to show; takes several IDs",
                     .several = true});
  std::vector<Command> commands = {
      {{"tensorboard", "start"},
       "Start a TensorBoard of experiments or trials and open it",
       {{"EXPERIMENT", "Experiments to show: 3 5,7 9-12", true, true}},
       std::move(options),
       RunTensorboardStart,
       "A TensorBoard takes no slots, follows running trials, and ends after 5 minutes without "
       "use; "
       "--config idle_timeout=1h changes this.\nIf $BROWSER is set or the session is graphical, "
       "the address is opened in a browser. Ctrl-C stops only the wait."},
      {{"tensorboard", "open"},
       "Print the address of a TensorBoard and open it in a browser",
       {OneTask(kTensorboard)},
       {kNoBrowser},
       RunTensorboardOpen,
       ""},
  };
  for (Command& each : TaskVerbs<kTensorboard>()) commands.push_back(std::move(each));
  return commands;
}

}  // namespace det::cli
