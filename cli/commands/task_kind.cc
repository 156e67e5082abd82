#include "cli/commands/task_kind.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
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
#include "det/api/v1/task.pb.h"
#include "det/api/v1/workspace.pb.h"
#include "google/protobuf/descriptor.h"

namespace det::cli {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::Message;
using google::protobuf::MessageFactory;

constexpr size_t kFullId = 36;  // of a UUID

// Calls a method of the kind, such as "Kill", and returns its response. `common` gets it as the
// response of the same method for commands, whose members have the same numbers.
absl::StatusOr<std::unique_ptr<Message>> CallTaskMethod(const ApiClient& api,
                                                        const std::string& verb,
                                                        const std::string& rpc,
                                                        const Message& request, Message* common) {
  const auto* const type = DescriptorPool::generated_pool()->FindMessageTypeByName(
      absl::StrCat("det.api.v1.", verb, rpc, "Response"));
  if (type == nullptr) return absl::InternalError(absl::StrCat("unknown method: ", verb, rpc));
  const std::string name = absl::StrCat(verb, rpc);
  std::unique_ptr<Message> response(MessageFactory::generated_factory()->GetPrototype(type)->New());
  DET_RETURN_IF_ERROR(api.Call(absl::StrCat("CommandService.", name), request, response.get()));
  if (!common->ParseFromString(response->SerializeAsString())) {
    return absl::InternalError(absl::StrCat(name, ": unexpected response"));
  }
  return response;
}

std::string PluralRpc(const TaskKind& kind) { return absl::StrCat(kind.rpc, "s"); }

absl::StatusOr<std::unique_ptr<Message>> GetTask(Invocation& run, const TaskKind& kind,
                                                 api::v1::GetCommandResponse* common) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::CommandRequest request;
  DET_ASSIGN_OR_RETURN(*request.mutable_id(),
                       CompleteTaskId(*api, kind, run.args.Word(kind.positional)));
  return CallTaskMethod(*api, "Get", kind.rpc, request, common);
}

// ---- list ----

std::string GetState(const AnyTask& task) { return api::v1::Allocation::State_Name(task.state()); }

using WorkspaceNames = std::map<int, std::string>;

absl::StatusOr<WorkspaceNames> GetWorkspaceNames(const ApiClient& api) {
  api::v1::GetWorkspacesResponse response;
  DET_RETURN_IF_ERROR(
      api.Call("WorkspaceService.GetWorkspaces", api::v1::GetWorkspacesRequest(), &response));
  WorkspaceNames names;
  for (const auto& workspace : response.workspaces()) names[workspace.id()] = workspace.name();
  return names;
}

std::string GetWorkspaceName(const WorkspaceNames& names, const AnyTask& task) {
  const auto found = names.find(task.workspace_id());
  return found == names.end() ? absl::StrCat(task.workspace_id()) : found->second;
}

Table MakeTable(absl::Span<const AnyTask> tasks, const WorkspaceNames& workspaces) {
  Table table({{"ID"},
               {"OWNER", false, true},
               {"DESCRIPTION", false, true},
               {"STATE"},
               {"STARTED"},
               {"EXIT STATUS", false, true},
               {"POOL"},
               {"WORKSPACE", false, true}});
  for (const AnyTask& each : tasks) {
    table.AddRow({each.id(), each.username(), each.description(), MakeStateCell(GetState(each)),
                  MakeAgeCell(each.start_time(), absl::Now()),
                  each.exit_status().empty() ? "-" : each.exit_status(), each.resource_pool(),
                  GetWorkspaceName(workspaces, each)});
  }
  return table;
}

// Sorts by --sort-by and --order-by; the default is the time of the start, oldest first.
absl::Status SortTasks(const Invocation& run, const WorkspaceNames& workspaces,
                       std::vector<AnyTask>* tasks) {
  using Key = std::function<std::string(const AnyTask&)>;
  const std::map<std::string, Key> keys = {
      {"id", [](const AnyTask& task) { return task.id(); }},
      {"username", [](const AnyTask& task) { return task.username(); }},
      {"description", [](const AnyTask& task) { return task.description(); }},
      {"state", GetState},
      {"exitstatus", [](const AnyTask& task) { return task.exit_status(); }},
      {"resourcepool", [](const AnyTask& task) { return task.resource_pool(); }},
      {"workspacename", [&](const AnyTask& task) { return GetWorkspaceName(workspaces, task); }},
      {"starttime",
       [](const AnyTask& task) {
         return absl::FormatTime("%E4Y-%m-%dT%H:%M:%E9S", ToTime(task.start_time()),
                                 absl::UTCTimeZone());
       }},
  };
  const std::string word = run.args.Get("sort-by").value_or("startTime");
  const auto key = keys.find(absl::AsciiStrToLower(word));
  if (key == keys.end()) {
    return UsageError(
        absl::StrCat("--sort-by: expected id, username, description, state, "
                     "exitStatus, resourcePool, workspaceName or startTime, found \"",
                     word, "\""));
  }
  const std::string order = run.args.Get("order-by").value_or("asc");
  if (order != "asc" && order != "desc") {
    return UsageError(absl::StrCat("--order-by: expected asc or desc, found \"", order, "\""));
  }
  std::stable_sort(tasks->begin(), tasks->end(), [&](const AnyTask& a, const AnyTask& b) {
    return order == "asc" ? key->second(a) < key->second(b) : key->second(b) < key->second(a);
  });
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> CompleteTaskId(const ApiClient& api, const TaskKind& kind,
                                           const std::string& text) {
  if (text.size() >= kFullId) return text;
  api::v1::GetCommandsResponse response;
  DET_RETURN_IF_ERROR(
      CallTaskMethod(api, "Get", PluralRpc(kind), api::v1::GetCommandsRequest(), &response)
          .status());
  std::vector<std::string> found;
  for (const AnyTask& each : response.commands()) {
    if (absl::StartsWith(each.id(), text)) found.push_back(each.id());
  }
  if (found.size() == 1) return found[0];
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat("no ", kind.name, " has an ID that begins with \"",
                                            text, "\"; see `det ", kind.name, " list -a`"));
  }
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" begins the IDs of ", found.size(),
                                                 " ", kind.name,
                                                 "s: ", absl::StrJoin(found, ", ")));
}

// ---- launch ----

absl::StatusOr<api::v1::LaunchCommandRequest> MakeLaunchRequest(
    const Invocation& run, const ApiClient& api, const std::vector<std::string>& words) {
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
  for (const std::string& word : words) request.add_words(word);
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

absl::StatusOr<LaunchedTask> LaunchTask(Invocation& run, const ApiClient& api, const TaskKind& kind,
                                        const api::v1::LaunchCommandRequest& request) {
  LaunchedTask launched;
  api::v1::LaunchCommandResponse common;
  DET_ASSIGN_OR_RETURN(launched.response,
                       CallTaskMethod(api, "Launch", kind.rpc, request, &common));
  for (const int warning : common.warnings()) {
    if (warning != api::v1::LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED) continue;
    run.screen->PrintNotice(absl::StrCat(
        "warning: the ", kind.name,
        " requests more slots than the agents of the resource pool have; it waits until agents "
        "with enough slots connect"));
  }
  launched.task = std::move(*common.mutable_command());
  launched.config = std::move(*common.mutable_config());
  return launched;
}

absl::StatusOr<bool> PrintLaunched(Invocation& run, const TaskKind& kind,
                                   const LaunchedTask& launched) {
  const AnyTask& task = launched.task;
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(*launched.response));
    return false;
  }
  if (run.args.Has("detach")) {
    run.screen->Print(absl::StrCat(task.id(), "\n"));
    return false;
  }
  run.screen->Print(absl::StrCat("Launched ", kind.name, " (id: ", task.id(),
                                 ", name: ", task.description(), ").\n"));
  return true;
}

std::vector<Option> LaunchOptions(const char* detach_help) {
  return {{"config", 0, "KEY=VALUE", "Set a config field, such as resources.slots=0; repeatable"},
          {"config-file", 0, "FILE", "Config file (YAML)"},
          {"context", 'c', "DIR", "Context directory: becomes the working directory"},
          {"include", 'i', "PATH", "Add a file or directory to the context; repeatable"},
          {"volume", 'v', "HOST:PATH", "Mount a directory of the agent's machine; repeatable"},
          {"template", 0, "NAME", "Template to apply, see `det template`"},
          {"workspace-name", 'w', "NAME", "Workspace to run in (default: Uncategorized)"},
          {"detach", 'd', "", detach_help}};
}

// ---- the other verbs ----

absl::StatusOr<int> ListTasks(Invocation& run, const TaskKind& kind) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  std::vector<AnyTask> tasks;
  DET_RETURN_IF_ERROR(SortTasks(run, {}, &tasks));  // Validates the options before any call.
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
  api::v1::GetCommandsResponse common;
  DET_ASSIGN_OR_RETURN(const std::unique_ptr<Message> response,
                       CallTaskMethod(*api, "Get", PluralRpc(kind), request, &common));
  DET_ASSIGN_OR_RETURN(const WorkspaceNames workspaces, GetWorkspaceNames(*api));
  tasks.assign(common.commands().begin(), common.commands().end());
  DET_RETURN_IF_ERROR(SortTasks(run, workspaces, &tasks));
  if (run.args.Has("quiet")) {
    for (const AnyTask& each : tasks) run.screen->Print(absl::StrCat(each.id(), "\n"));
    return kExitOk;
  }
  return run.PrintList(
      *response, MakeTable(tasks, workspaces),
      absl::StrCat("no ", kind.name, "s", run.args.Has("all") ? "" : " of yours; -a lists all"));
}

absl::StatusOr<int> DescribeTask(Invocation& run, const TaskKind& kind) {
  api::v1::GetCommandResponse common;
  DET_ASSIGN_OR_RETURN(const std::unique_ptr<Message> response, GetTask(run, kind, &common));
  if (run.json()) return run.PrintResult(*response, "");
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const WorkspaceNames workspaces, GetWorkspaceNames(*api));
  return run.PrintList(*response, MakeTable({common.command()}, workspaces), "");
}

absl::StatusOr<int> PrintTaskConfig(Invocation& run, const TaskKind& kind) {
  api::v1::GetCommandResponse common;
  DET_ASSIGN_OR_RETURN(const std::unique_ptr<Message> response, GetTask(run, kind, &common));
  return run.PrintResult(*response, FormatYaml(common.config()));
}

absl::StatusOr<int> PrintTaskLogs(Invocation& run, const TaskKind& kind) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::TaskLogsRequest request;
  DET_ASSIGN_OR_RETURN(*request.mutable_task_id(),
                       CompleteTaskId(*api, kind, run.args.Word(kind.positional)));
  DET_RETURN_IF_ERROR(ReadLogOptions(run, &request));
  DET_RETURN_IF_ERROR(PrintLogs(*api, request, run.json() ? LogFormat::kJson : LogFormat::kText,
                                run.screen, RetryPolicy(run.screen)));
  return kExitOk;
}

absl::StatusOr<int> KillTasks(Invocation& run, const TaskKind& kind) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  const std::vector<std::string> words = run.args.Words(kind.positional);
  int exit_code = kExitOk;
  for (const std::string& word : words) {
    api::v1::CommandRequest request;
    api::v1::KillCommandResponse common;
    const absl::StatusOr<std::string> id = CompleteTaskId(*api, kind, word);
    absl::Status killed = id.status();
    if (killed.ok()) {
      request.set_id(*id);
      killed = CallTaskMethod(*api, "Kill", kind.rpc, request, &common).status();
    }
    if (killed.ok()) {
      run.screen->Print(absl::StrCat("Killed ", kind.name, " ", request.id(), "\n"));
      continue;
    }
    if (words.size() == 1) return killed;
    run.screen->PrintNotice(absl::StrCat("det: ", word, ": ", killed.message()));
    exit_code = kExitError;
  }
  return exit_code;
}

absl::StatusOr<int> SetTaskPriority(Invocation& run, const TaskKind& kind) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::SetCommandPriorityRequest request;
  int priority = 0;
  if (!absl::SimpleAtoi(run.args.Word("PRIORITY"), &priority) || priority < 1 || priority > 99) {
    return UsageError(absl::StrCat("PRIORITY: expected an integer from 1 to 99, found \"",
                                   run.args.Word("PRIORITY"), "\""));
  }
  request.set_priority(priority);
  DET_ASSIGN_OR_RETURN(*request.mutable_id(),
                       CompleteTaskId(*api, kind, run.args.Word(kind.positional)));
  api::v1::SetCommandPriorityResponse common;
  DET_ASSIGN_OR_RETURN(
      const std::unique_ptr<Message> response,
      CallTaskMethod(*api, "Set", absl::StrCat(kind.rpc, "Priority"), request, &common));
  return run.PrintResult(*response, absl::StrCat("Set priority of ", kind.name, " ", request.id(),
                                                 " to ", priority, "\n"));
}

// ---- the table of commands ----

Positional OneTask(const TaskKind& kind) {
  return {kind.positional, absl::StrCat("ID or its beginning, see `det ", kind.name, " list`")};
}

std::vector<Command> MakeTaskVerbs(const TaskKind& kind, const std::vector<RunFunction>& runs) {
  const std::string name = kind.name;
  const std::string one = absl::StrCat("a ", name);
  return {
      {{name, "list"},
       absl::StrCat("List ", name, "s that run, wait or ended in the last day"),
       {},
       {{"all", 'a', "", "Include those of all users"},
        {"workspace-name", 'w', "NAME", "Include only those of a workspace"},
        {"sort-by", 0, "FIELD", "Sort by id, description, startTime, state or others, see below"},
        {"order-by", 0, "ORDER", "Order: asc (default) or desc"},
        {"quiet", 'q', "", "Print only IDs"},
        kCsv},
       runs[0],
       "--sort-by accepts id, username, description, state, exitStatus, resourcePool, "
       "workspaceName and startTime (the default)."},
      {{name, "describe"}, "Show " + one, {OneTask(kind)}, {kCsv}, runs[1], ""},
      {{name, "config"}, "Print the complete config of " + one, {OneTask(kind)}, {}, runs[2], ""},
      {{name, "logs"}, "Print the log of " + one, {OneTask(kind)}, LogOptions(), runs[3], ""},
      {{name, "kill"},
       absl::StrCat("Kill ", name, "s"),
       {{kind.positional, "IDs or their beginnings", false, true}},
       // All IDs are tried in any case.
       {{"force", 'f', "", "", "", false, "", true}},
       runs[4],
       ""},
      {{name, "set", "priority"},
       absl::StrCat("Change the priority of ", one, " in the queue"),
       {OneTask(kind), {"PRIORITY", "From 1 to 99, smaller first"}},
       {},
       runs[5],
       ""},
  };
}

}  // namespace det::cli
