// det task list|logs
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/log_options.h"
#include "cli/format.h"
#include "cli/logs.h"
#include "cli/table.h"
#include "det/api/v1/task.pb.h"

namespace det::cli {
namespace {

absl::StatusOr<int> RunTaskList(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetTasksResponse response;
  DET_RETURN_IF_ERROR(api->Call("TaskService.GetTasks", api::v1::GetTasksRequest(), &response));
  Table table({{"TASK"},
               {"ALLOCATION"},
               {"NAME", false, true},
               {"SLOTS", true},
               {"REGISTERED"},
               {"AGENTS", false, true},
               {"PRIORITY", true},
               {"POOL"}});
  using Summary = api::v1::AllocationSummary;
  const std::map<std::string, Summary> sorted(response.allocation_id_to_summary().begin(),
                                              response.allocation_id_to_summary().end());
  for (const auto& [id, each] : sorted) {
    std::vector<std::string> agents;
    for (const auto& part : each.resources()) agents.push_back(part.resources_id());
    table.AddRow({each.task_id(), id, each.name(), absl::StrCat(each.slots_needed()),
                  MakeAgeCell(each.registered_time(), absl::Now()),
                  agents.empty() ? "waiting" : absl::StrJoin(agents, ","),
                  absl::StrCat(each.priority()), each.resource_pool()});
  }
  return run.PrintList(response, table, "no running or waiting tasks");
}

absl::StatusOr<int> RunTaskLogs(Invocation& run) {
  api::v1::TaskLogsRequest request;
  request.set_task_id(run.args.Word("TASK"));
  DET_RETURN_IF_ERROR(ReadLogOptions(run, &request));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_RETURN_IF_ERROR(PrintLogs(*api, request, run.json() ? LogFormat::kJson : LogFormat::kText,
                                run.screen, RetryPolicy(run.screen)));
  return kExitOk;
}

}  // namespace

std::vector<Command> TaskCommands() {
  return {
      {{"task", "list"}, "List running and waiting tasks", {}, {kCsv}, RunTaskList, ""},
      {{"task", "logs"},
       "Print the logs of a task",
       {{"TASK", "Task ID, see `det task list`"}},
       LogOptions(),
       RunTaskLogs,
       ""},
  };
}

}  // namespace det::cli
