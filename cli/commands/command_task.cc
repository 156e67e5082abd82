// det command run|list|describe|config|logs|kill|set priority
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/context_files.h"
#include "cli/commands/log_options.h"
#include "cli/commands/workspace.h"
#include "cli/config_file.h"
#include "cli/context_dir.h"
#include "cli/format.h"
#include "cli/json_text.h"
#include "cli/logs.h"
#include "cli/table.h"
#include "cli/yaml_text.h"
#include "det/api/v1/auth.pb.h"
#include "det/api/v1/command.pb.h"
#include "det/api/v1/task.pb.h"
#include "det/api/v1/workspace.pb.h"

namespace det::cli {
namespace {

using TaskCommand = api::v1::Command;
constexpr size_t kFullId = 36;  // of a UUID

// ---- ids ----

// Completes the beginning of an id, which must be that of one command.
absl::StatusOr<std::string> CompleteId(const ApiClient& api, const std::string& text) {
  if (text.size() >= kFullId) return text;
  api::v1::GetCommandsResponse response;
  DET_RETURN_IF_ERROR(
      api.Call("CommandService.GetCommands", api::v1::GetCommandsRequest(), &response));
  std::vector<std::string> found;
  for (const TaskCommand& each : response.commands()) {
    if (absl::StartsWith(each.id(), text)) found.push_back(each.id());
  }
  if (found.size() == 1) return found[0];
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat("no command has an id that begins with \"", text,
                                            "\"; see `det command list`"));
  }
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" begins the ids of ", found.size(),
                                                 " commands: ", absl::StrJoin(found, ", ")));
}

// ---- run ----

absl::StatusOr<api::v1::LaunchCommandRequest> MakeRequest(const Invocation& run,
                                                          const ApiClient& api) {
  api::v1::LaunchCommandRequest request;
  request.set_config_yaml("{}");
  request.set_config_path("--config");
  const std::vector<std::string> overrides = run.args.GetAll("config");
  if (const auto path = run.args.Get("config-file")) {
    DET_ASSIGN_OR_RETURN(*request.mutable_config_yaml(), ReadConfig(*path, overrides));
    request.set_config_path(*path);
  }
  for (const std::string& each : overrides) request.add_config_overrides(each);
  for (const std::string& each : run.args.GetAll("volume")) {
    const size_t colon = each.find(':');
    if (colon == std::string::npos) {
      return UsageError(absl::StrCat("--volume: expected HOST:PATH, found \"", each, "\""));
    }
    request.add_config_overrides(
        absl::StrCat("bind_mounts+=[{host_path: ", QuoteJson(each.substr(0, colon)),
                     ", container_path: ", QuoteJson(each.substr(colon + 1)), "}]"));
  }
  for (const std::string& word : run.args.Words("WORD")) request.add_words(word);
  request.set_template_name(run.args.Get("template").value_or(""));
  if (const auto name = run.args.Get("workspace-name")) {
    DET_ASSIGN_OR_RETURN(const api::v1::Workspace workspace, FindWorkspace(api, *name));
    request.set_workspace_id(workspace.id());
  }
  std::vector<ContextEntry> entries;
  if (const auto directory = run.args.Get("context")) {
    DET_ASSIGN_OR_RETURN(entries, ReadContextDir(*directory));
  }
  for (const std::string& path : run.args.GetAll("include")) {
    DET_RETURN_IF_ERROR(IncludeInContext(path, &entries));
  }
  AddFiles(std::move(entries), request.mutable_files());
  return request;
}

// Prints the log to its end; then the exit code is that of the command, as far as it is known.
absl::StatusOr<int> Follow(Invocation& run, const ApiClient& api, const std::string& id) {
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
  api::v1::CommandRequest request;
  request.set_id(id);
  api::v1::GetCommandResponse response;
  DET_RETURN_IF_ERROR(api.Call("CommandService.GetCommand", request, &response));
  const std::string& end = response.command().exit_status();
  if (end == "allocation exited successfully") return kExitOk;
  run.screen->PrintNotice(absl::StrCat("det: ", end));
  return kExitError;
}

absl::StatusOr<int> RunCommandRun(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const api::v1::LaunchCommandRequest request, MakeRequest(run, *api));
  api::v1::LaunchCommandResponse response;
  DET_RETURN_IF_ERROR(api->Call("CommandService.LaunchCommand", request, &response));
  for (const int warning : response.warnings()) {
    if (warning != api::v1::LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED) continue;
    run.screen->PrintNotice(
        "warning: the command requests more slots than the agents of the resource pool have; it "
        "waits until agents with enough slots connect");
  }
  const std::string& id = response.command().id();
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
    return kExitOk;
  }
  if (run.args.Has("detach")) {
    run.screen->Print(absl::StrCat(id, "\n"));
    return kExitOk;
  }
  // Existing scripts read the id from this line.
  run.screen->Print(absl::StrCat("Launched command (id: ", id,
                                 ", name: ", response.command().description(), ").\n"));
  return Follow(run, *api, id);
}

// ---- list, describe ----

std::string GetState(const TaskCommand& command) {
  return api::v1::Allocation::State_Name(command.state());
}

Table CommandTable(absl::Span<const TaskCommand> commands) {
  Table table({{"ID"},
               {"OWNER", false, true},
               {"DESCRIPTION", false, true},
               {"STATE"},
               {"STARTED"},
               {"EXIT STATUS", false, true},
               {"POOL"}});
  for (const TaskCommand& each : commands) {
    table.AddRow({each.id(), each.username(), each.description(), MakeStateCell(GetState(each)),
                  MakeAgeCell(each.start_time(), absl::Now()),
                  each.exit_status().empty() ? "-" : each.exit_status(), each.resource_pool()});
  }
  return table;
}

absl::StatusOr<int> RunCommandList(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetCommandsRequest request;
  request.set_sort_by(api::v1::GetCommandsRequest::SORT_BY_START_TIME);
  if (!run.args.Has("all")) {
    api::v1::GetMeResponse me;
    DET_RETURN_IF_ERROR(api->Call("AuthService.GetMe", api::v1::GetMeRequest(), &me));
    request.add_user_ids(me.user().id());
  }
  if (const auto name = run.args.Get("workspace-name")) {
    DET_ASSIGN_OR_RETURN(const api::v1::Workspace workspace, FindWorkspace(*api, *name));
    request.set_workspace_id(workspace.id());
  }
  api::v1::GetCommandsResponse response;
  DET_RETURN_IF_ERROR(api->Call("CommandService.GetCommands", request, &response));
  const std::vector<TaskCommand> commands(response.commands().begin(), response.commands().end());
  if (run.args.Has("quiet")) {
    for (const TaskCommand& each : commands) run.screen->Print(absl::StrCat(each.id(), "\n"));
    return kExitOk;
  }
  return run.PrintList(response, CommandTable(commands),
                       run.args.Has("all") ? "no commands" : "no commands of yours; -a lists all");
}

absl::StatusOr<api::v1::GetCommandResponse> GetCommand(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::CommandRequest request;
  DET_ASSIGN_OR_RETURN(*request.mutable_id(), CompleteId(*api, run.args.Word("COMMAND")));
  api::v1::GetCommandResponse response;
  DET_RETURN_IF_ERROR(api->Call("CommandService.GetCommand", request, &response));
  return response;
}

absl::StatusOr<int> RunCommandDescribe(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const api::v1::GetCommandResponse response, GetCommand(run));
  const std::vector<TaskCommand> commands = {response.command()};
  return run.PrintList(response, CommandTable(commands), "");
}

absl::StatusOr<int> RunCommandConfig(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const api::v1::GetCommandResponse response, GetCommand(run));
  return run.PrintResult(response, FormatYaml(response.config()));
}

// ---- logs, kill, set ----

absl::StatusOr<int> RunCommandLogs(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::TaskLogsRequest request;
  DET_ASSIGN_OR_RETURN(*request.mutable_task_id(), CompleteId(*api, run.args.Word("COMMAND")));
  DET_RETURN_IF_ERROR(ReadLogOptions(run, &request));
  DET_RETURN_IF_ERROR(PrintLogs(*api, request, run.json() ? LogFormat::kJson : LogFormat::kText,
                                run.screen, RetryPolicy(run.screen)));
  return kExitOk;
}

absl::StatusOr<int> RunCommandKill(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  int exit_code = kExitOk;
  for (const std::string& word : run.args.Words("COMMAND")) {
    api::v1::CommandRequest request;
    api::v1::KillCommandResponse response;
    absl::StatusOr<std::string> id = CompleteId(*api, word);
    absl::Status killed = id.status();
    if (killed.ok()) {
      request.set_id(*id);
      killed = api->Call("CommandService.KillCommand", request, &response);
    }
    if (killed.ok()) {
      run.screen->Print(absl::StrCat("Killed command ", request.id(), "\n"));
      continue;
    }
    if (run.args.Words("COMMAND").size() == 1) return killed;
    run.screen->PrintNotice(absl::StrCat("det: ", word, ": ", killed.message()));
    exit_code = kExitError;
  }
  return exit_code;
}

absl::StatusOr<int> RunSetPriority(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::SetCommandPriorityRequest request;
  int priority = 0;
  if (!absl::SimpleAtoi(run.args.Word("PRIORITY"), &priority) || priority < 1 || priority > 99) {
    return UsageError(absl::StrCat("PRIORITY: expected an integer from 1 to 99, found \"",
                                   run.args.Word("PRIORITY"), "\""));
  }
  request.set_priority(priority);
  DET_ASSIGN_OR_RETURN(*request.mutable_id(), CompleteId(*api, run.args.Word("COMMAND")));
  api::v1::SetCommandPriorityResponse response;
  DET_RETURN_IF_ERROR(api->Call("CommandService.SetCommandPriority", request, &response));
  return run.PrintResult(
      response, absl::StrCat("Set priority of command ", request.id(), " to ", priority, "\n"));
}

const Positional kOneCommand = {"COMMAND", "Command ID, or its beginning; see `det command list`"};

}  // namespace

std::vector<Command> CommandTaskCommands() {
  return {
      {{"command", "run"},
       "Run a command line on the cluster and follow its log",
       {{"WORD", "The command line; one word is run by a shell", true, true, true}},
       {{"config", 0, "KEY=VALUE", "Set a config field, such as resources.slots=0; repeatable"},
        {"config-file", 0, "FILE", "Config file (YAML)"},
        {"context", 'c', "DIR", "Context directory: becomes the working directory"},
        {"include", 'i', "PATH", "Add a file or directory to the context; repeatable"},
        {"volume", 'v', "HOST:PATH", "Mount a directory of the agent's machine; repeatable"},
        {"template", 0, "NAME", "Template to apply, see `det template`"},
        {"workspace-name", 'w', "NAME", "Workspace to run in (default: Uncategorized)"},
        {"detach", 'd', "", "Print the ID and do not follow the log"}},
       RunCommandRun,
       "The command gets one slot; --config resources.slots=0 requests none.\nThe exit code is 0 "
       "only if the command's is. Ctrl-C leaves the command running (exit code 3) and prints how "
       "to stop it."},
      {{"command", "list"},
       "List commands that run, wait or ended in the last day",
       {},
       {{"all", 'a', "", "List the commands of all users"},
        {"workspace-name", 'w', "NAME", "List only the commands of a workspace"},
        {"quiet", 'q', "", "Print only IDs"},
        kCsv},
       RunCommandList,
       ""},
      {{"command", "describe"}, "Show a command", {kOneCommand}, {kCsv}, RunCommandDescribe, ""},
      {{"command", "config"},
       "Print the complete config of a command",
       {kOneCommand},
       {},
       RunCommandConfig,
       ""},
      {{"command", "logs"},
       "Print the log of a command",
       {kOneCommand},
       LogOptions(),
       RunCommandLogs,
       ""},
      {{"command", "kill"},
       "Kill commands",
       {{"COMMAND", "Command IDs, or their beginnings", false, true}},
       {{"force", 'f', "", "", "", false, "", true}},
       RunCommandKill,
       ""},
      {{"command", "set", "priority"},
       "Change the priority of a command in the queue",
       {kOneCommand, {"PRIORITY", "From 1 to 99, smaller first"}},
       {},
       RunSetPriority,
       ""},
  };
}

}  // namespace det::cli
