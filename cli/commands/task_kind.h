// The verbs that commands, notebooks, shells and TensorBoards share: launch, list, describe,
// config, logs, kill and set priority. Used by the file of each kind.
#ifndef CLI_COMMANDS_TASK_KIND_H_
#define CLI_COMMANDS_TASK_KIND_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "det/api/v1/command.pb.h"
#include "google/protobuf/message.h"

namespace det::cli {

// How a kind of task is named.
struct TaskKind {
  const char* name;        // "notebook": the group of its commands
  const char* rpc;         // "Notebook": in the API's methods and messages
  const char* positional;  // "NOTEBOOK"
};

// A task of any kind: each has the members of a command under the same numbers.
using AnyTask = api::v1::Command;

// Completes the beginning of an ID, which must be that of one task of the kind.
absl::StatusOr<std::string> CompleteTaskId(const ApiClient& api, const TaskKind& kind,
                                           const std::string& text);

struct LaunchedTask {
  std::unique_ptr<google::protobuf::Message> response;  // Launch...Response of the kind
  AnyTask task;
  google::protobuf::Struct config;
};

// Returns the request that LaunchOptions() and the words describe.
absl::StatusOr<api::v1::LaunchCommandRequest> MakeLaunchRequest(
    const Invocation& run, const ApiClient& api, const std::vector<std::string>& words = {});

// Launches a task and prints the warnings of the master.
absl::StatusOr<LaunchedTask> LaunchTask(Invocation& run, const ApiClient& api, const TaskKind& kind,
                                        const api::v1::LaunchCommandRequest& request);

// Prints the result of a launch: the response with --json, the ID with --detach, else a line from
// which existing scripts read the ID. Returns whether the task is to be followed.
absl::StatusOr<bool> PrintLaunched(Invocation& run, const TaskKind& kind,
                                   const LaunchedTask& launched);

// The options of every command that launches a task.
std::vector<Option> LaunchOptions(const char* detach_help);

Positional OneTask(const TaskKind& kind);

absl::StatusOr<int> ListTasks(Invocation& run, const TaskKind& kind);
absl::StatusOr<int> DescribeTask(Invocation& run, const TaskKind& kind);
absl::StatusOr<int> PrintTaskConfig(Invocation& run, const TaskKind& kind);
absl::StatusOr<int> PrintTaskLogs(Invocation& run, const TaskKind& kind);
absl::StatusOr<int> KillTasks(Invocation& run, const TaskKind& kind);
absl::StatusOr<int> SetTaskPriority(Invocation& run, const TaskKind& kind);

// Returns a function for the table of commands.
template <const TaskKind& kKind, auto kRun>
absl::StatusOr<int> RunForKind(Invocation& run) {
  return kRun(run, kKind);
}

// The rows of the shared verbs with these functions, in their order above.
using RunFunction = absl::StatusOr<int> (*)(Invocation&);
std::vector<Command> MakeTaskVerbs(const TaskKind& kind, const std::vector<RunFunction>& runs);

template <const TaskKind& kKind>
std::vector<Command> TaskVerbs() {
  return MakeTaskVerbs(kKind, {RunForKind<kKind, ListTasks>, RunForKind<kKind, DescribeTask>,
                               RunForKind<kKind, PrintTaskConfig>, RunForKind<kKind, PrintTaskLogs>,
                               RunForKind<kKind, KillTasks>, RunForKind<kKind, SetTaskPriority>});
}

}  // namespace det::cli

#endif  // CLI_COMMANDS_TASK_KIND_H_
