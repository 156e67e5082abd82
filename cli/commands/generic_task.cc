// det task create|fork|config|kill|pause|unpause|cleanup-logs
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/context_files.h"
#include "cli/config_file.h"
#include "cli/context_dir.h"
#include "cli/logs.h"
#include "det/api/v1/generic_task.pb.h"
#include "det/api/v1/log_retention.pb.h"
#include "det/api/v1/task.pb.h"

namespace det::cli {
namespace {

using CreateRequest = api::v1::CreateGenericTaskRequest;

const Positional kTask = {"TASK", "Task ID, see `det task list`"};
const Option kFollow = {"follow", 'f', "", "Follow the log until the task has ended"};
const Option kProject = {"project-id", 0, "ID",
                         "Project to create the task in (default: Uncategorized)"};

// ---- create, fork ----

absl::Status FollowLog(Invocation& run, const ApiClient& api, const std::string& id) {
  api::v1::TaskLogsRequest logs;
  logs.set_task_id(id);
  logs.set_follow(true);
  absl::Status printed =
      PrintLogs(api, logs, LogFormat::kText, run.screen, RetryPolicy(run.screen));
  if (absl::IsCancelled(printed)) {
    run.screen->PrintNotice(absl::StrCat("det: task ", id,
                                         " is still running; follow it with `det task logs -f ", id,
                                         "`, stop it with `det task kill ", id, "`"));
  }
  return printed;
}

absl::StatusOr<int> Create(Invocation& run, CreateRequest request) {
  DET_ASSIGN_OR_RETURN(const int project, run.args.GetInt("project-id", 0, 1, INT32_MAX));
  request.set_project_id(project);
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::CreateGenericTaskResponse response;
  DET_RETURN_IF_ERROR(api->Call("GenericTaskService.CreateGenericTask", request, &response));
  for (const int warning : response.warnings()) {
    if (warning != api::v1::LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED) continue;
    run.screen->PrintNotice(
        "warning: the task requests more slots than the agents of the resource pool have; it "
        "waits until agents with enough slots connect");
  }
  const std::string& id = response.task_id();
  DET_ASSIGN_OR_RETURN(const int code,
                       run.PrintResult(response, absl::StrCat("Created task ", id, "\n")));
  if (run.args.Has("follow")) DET_RETURN_IF_ERROR(FollowLog(run, *api, id));
  return code;
}

absl::StatusOr<int> RunTaskCreate(Invocation& run) {
  CreateRequest request;
  const std::string path = run.args.Word("CONFIG");
  const std::vector<std::string> overrides = run.args.GetAll("config");
  DET_ASSIGN_OR_RETURN(*request.mutable_config(), ReadConfig(path, overrides));
  request.set_config_path(path);
  for (const std::string& each : overrides) request.add_config_overrides(each);
  request.set_parent_id(run.args.Get("parent").value_or(""));
  request.set_inherit_context(run.args.Has("inherit-context"));
  request.set_forked_from(run.args.Get("fork").value_or(""));
  request.set_no_pause(run.args.Has("no-pause"));
  std::vector<ContextEntry> entries;
  if (const auto directory = run.args.Get("context")) {
    DET_ASSIGN_OR_RETURN(entries, ReadContextDir(*directory));
  }
  for (const std::string& include : run.args.GetAll("include")) {
    DET_RETURN_IF_ERROR(IncludeInContext(include, &entries));
  }
  AddFiles(std::move(entries), request.mutable_context_directory());
  return Create(run, std::move(request));
}

absl::StatusOr<int> RunTaskFork(Invocation& run) {
  CreateRequest request;
  request.set_forked_from(run.args.Word("TASK"));
  return Create(run, std::move(request));
}

// ---- config, kill, pause, unpause, cleanup-logs ----

absl::StatusOr<int> RunTaskConfig(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetGenericTaskConfigRequest request;
  request.set_task_id(run.args.Word("TASK"));
  api::v1::GetGenericTaskConfigResponse response;
  DET_RETURN_IF_ERROR(api->Call("GenericTaskService.GetGenericTaskConfig", request, &response));
  run.screen->Print(absl::StrCat(response.config(), "\n"));
  return kExitOk;
}

absl::StatusOr<int> RunTaskKill(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::KillGenericTaskRequest request;
  request.set_task_id(run.args.Word("TASK"));
  request.set_kill_from_root(run.args.Has("root"));
  api::v1::KillGenericTaskResponse response;
  DET_RETURN_IF_ERROR(api->Call("GenericTaskService.KillGenericTask", request, &response));
  // Existing scripts know this spelling.
  return run.PrintResult(response,
                         absl::StrCat("Sucessfully killed task: ", request.task_id(), "\n"));
}

absl::StatusOr<int> RunTaskPause(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::PauseGenericTaskRequest request;
  request.set_task_id(run.args.Word("TASK"));
  api::v1::PauseGenericTaskResponse response;
  DET_RETURN_IF_ERROR(api->Call("GenericTaskService.PauseGenericTask", request, &response));
  return run.PrintResult(response, absl::StrCat("Paused task: ", request.task_id(), "\n"));
}

absl::StatusOr<int> RunTaskUnpause(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::UnpauseGenericTaskRequest request;
  request.set_task_id(run.args.Word("TASK"));
  api::v1::UnpauseGenericTaskResponse response;
  DET_RETURN_IF_ERROR(api->Call("GenericTaskService.UnpauseGenericTask", request, &response));
  return run.PrintResult(response, absl::StrCat("Unpaused task: ", request.task_id(), "\n"));
}

absl::StatusOr<int> RunCleanupLogs(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::CleanupLogsResponse response;
  DET_RETURN_IF_ERROR(
      api->Call("LogRetentionService.CleanupLogs", api::v1::CleanupLogsRequest(), &response));
  return run.PrintResult(
      response, absl::StrCat("Deleted ", response.removed_count(), " rows of log entries.\n"));
}

}  // namespace

std::vector<Command> GenericTaskCommands() {
  return {
      {{"task", "create"},
       "Create a generic task from a config file",
       {{"CONFIG", "Config of the task (YAML)"}},
       {{"context", 'c', "DIR", "Context directory: becomes the working directory"},
        {"include", 'i', "PATH", "Add a file or directory to the context; repeatable"},
        kProject,
        {"config", 0, "KEY=VALUE", "Set a config field, such as resources.slots=0; repeatable"},
        kFollow,
        {"fork", 0, "TASK", "Take config fields that CONFIG omits, and the context, from a task"},
        {"parent", 'p', "TASK", "Parent; kill and pause apply to its children as well"},
        {"inherit-context", 0, "", "Use the context directory of the parent"},
        {"no-pause", 0, "", "Do not let the task be paused"}},
       RunTaskCreate,
       "A generic task runs the command line of `entrypoint` and can be paused."},
      {{"task", "fork"},
       "Create a generic task with the config and context of another",
       {kTask},
       {kFollow, kProject},
       RunTaskFork,
       ""},
      {{"task", "config"},
       "Print the config of a generic task as it was submitted",
       {kTask},
       {},
       RunTaskConfig,
       ""},
      {{"task", "kill"},
       "Kill a generic task and its children",
       {kTask},
       {{"root", 0, "", "Begin at the topmost parent"}},
       RunTaskKill,
       ""},
      {{"task", "pause"},
       "Pause a generic task and its children",
       {kTask},
       {},
       RunTaskPause,
       "Its program is stopped, and starts from the beginning when the task is unpaused."},
      {{"task", "unpause"},
       "Resume a paused generic task and its children",
       {kTask},
       {},
       RunTaskUnpause,
       ""},
      {{"task", "cleanup-logs"},
       "Delete logs whose retention has ended",
       {},
       {},
       RunCleanupLogs,
       ""},
  };
}

}  // namespace det::cli
