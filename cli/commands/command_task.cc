// det command run, and the verbs that all kinds of tasks share
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/task_kind.h"
#include "cli/logs.h"
#include "det/api/v1/command.pb.h"
#include "det/api/v1/task.pb.h"

namespace det::cli {
namespace {

constexpr TaskKind kCommand = {"command", "Command", "COMMAND"};

// Prints the log to its end; then the exit code is that of the command, as far as it is known.
absl::StatusOr<int> FollowCommand(Invocation& run, const ApiClient& api, const std::string& id) {
  api::v1::TaskLogsRequest logs;
  logs.set_task_id(id);
  logs.set_follow(true);
  const absl::Status printed =
      PrintLogs(api, logs, LogFormat::kText, run.screen, RetryPolicy(run.screen));
  if (absl::IsCancelled(printed)) {
    run.screen->PrintNotice(absl::StrCat("det: command ", id,
                                         " is still running; follow it with `det command logs -f ",
                                         id, "`, stop it with `det command kill ", id, "`"));
  }
  DET_RETURN_IF_ERROR(printed);
  api::v1::GetTaskRequest request;
  request.set_task_id(id);
  api::v1::GetTaskResponse response;
  DET_RETURN_IF_ERROR(api.Call("TaskService.GetTask", request, &response));
  const api::v1::Allocation none;
  const auto& allocations = response.task().allocations();
  const api::v1::Allocation& last = allocations.empty() ? none : allocations[0];
  // Without an exit code, it was killed before it ran.
  if (last.has_status_code() && last.status_code() == 0) return kExitOk;
  run.screen->PrintNotice(absl::StrCat(
      "det: ", last.exit_reason().empty() ? "the command did not run" : last.exit_reason()));
  return kExitError;
}

absl::StatusOr<int> RunCommandRun(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const api::v1::LaunchCommandRequest request,
                       MakeLaunchRequest(run, *api, run.args.Words("WORD")));
  DET_ASSIGN_OR_RETURN(const LaunchedTask launched, LaunchTask(run, *api, kCommand, request));
  DET_ASSIGN_OR_RETURN(const bool follow, PrintLaunched(run, kCommand, launched));
  return follow ? FollowCommand(run, *api, launched.task.id()) : kExitOk;
}

}  // namespace

std::vector<Command> CommandTaskCommands() {
  std::vector<Command> commands = {
      {{"command", "run"},
       "Run a command line on the cluster and follow its log",
       {{"WORD", "The command line; one word is run by a shell", true, true, true}},
       LaunchOptions("Print the ID and do not follow the log"),
       RunCommandRun,
       "The command gets one slot; --config resources.slots=0 requests none.\nThe exit code is 0 "
       "only if the command's is. Ctrl-C leaves the command running (exit code 3) and prints how "
       "to stop it."},
  };
  for (Command& each : TaskVerbs<kCommand>()) commands.push_back(std::move(each));
  return commands;
}

}  // namespace det::cli
