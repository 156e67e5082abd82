// det notebook start|open, and the verbs that all kinds of tasks share
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/service_address.h"
#include "cli/commands/task_kind.h"
#include "cli/task_readiness.h"
#include "cli/yaml_text.h"
#include "det/api/v1/command.pb.h"

namespace det::cli {
namespace {

constexpr TaskKind kNotebook = {"notebook", "Notebook", "NOTEBOOK"};

// Waits until the notebook serves, prints its address and opens it.
absl::StatusOr<int> OpenNotebook(Invocation& run, const ApiClient& api, const std::string& id) {
  DET_RETURN_IF_ERROR(WaitUntilReady(api, kNotebook.name, id, run.screen));
  api::v1::CommandRequest request;
  request.set_id(id);
  api::v1::GetNotebookResponse response;
  DET_RETURN_IF_ERROR(api.Call("CommandService.GetNotebook", request, &response));
  ShowService(run, api, "Jupyter Notebook", response.notebook().service_address());
  return kExitOk;
}

absl::StatusOr<int> RunNotebookStart(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(api::v1::LaunchCommandRequest request, MakeLaunchRequest(run, *api));
  request.set_preview(run.args.Has("preview"));
  DET_ASSIGN_OR_RETURN(const LaunchedTask launched, LaunchTask(run, *api, kNotebook, request));
  if (request.preview()) return run.PrintResult(*launched.response, FormatYaml(launched.config));
  DET_ASSIGN_OR_RETURN(const bool open, PrintLaunched(run, kNotebook, launched));
  return open ? OpenNotebook(run, *api, launched.task.id()) : kExitOk;
}

absl::StatusOr<int> RunNotebookOpen(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const std::string id,
                       CompleteTaskId(*api, kNotebook, run.args.Word("NOTEBOOK")));
  return OpenNotebook(run, *api, id);
}

}  // namespace

std::vector<Command> NotebookCommands() {
  std::vector<Option> options = LaunchOptions("Print the ID and do not wait");
  options.push_back(kNoBrowser);
  options.push_back({"preview", 0, "", "Print the complete config and start nothing"});
  std::vector<Command> commands = {
      {{"notebook", "start"},
       "Start a JupyterLab on the cluster and open it",
       {},
       std::move(options),
       RunNotebookStart,
       "The notebook gets one slot; --config resources.slots=0 requests none. --config "
       "idle_timeout=30m ends it after 30 minutes without use.\nIf $BROWSER is set or the session "
       "is graphical, the address is opened in a browser. Ctrl-C stops only the wait."},
      {{"notebook", "open"},
       "Print the address of a notebook and open it in a browser",
       {OneTask(kNotebook)},
       {kNoBrowser},
       RunNotebookOpen,
       ""},
  };
  for (Command& each : TaskVerbs<kNotebook>()) commands.push_back(std::move(each));
  return commands;
}

}  // namespace det::cli
