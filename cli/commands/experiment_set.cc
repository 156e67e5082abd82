// det experiment set max-slots|priority|weight|log-retention
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/experiment.h"
#include "cli/commands/job.h"
#include "cli/commands/log_days.h"
#include "det/api/v1/log_retention.pb.h"

namespace det::cli {
namespace {

absl::StatusOr<int> Set(Invocation& run, const char* property) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("EXPERIMENT"));
  return UpdateJobs(run, {{absl::StrCat(id), property, run.args.Word("VALUE")}});
}

absl::StatusOr<int> SetExperimentLogDays(Invocation& run) {
  api::v1::PutExperimentRetainLogsRequest request;
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("EXPERIMENT"));
  DET_ASSIGN_OR_RETURN(const int days, LogDays(run));
  request.set_experiment_id(id);
  request.set_num_days(days);
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.Api());
  api::v1::PutExperimentRetainLogsResponse response;
  DET_RETURN_IF_ERROR(api->Call("LogRetentionService.PutExperimentRetainLogs", request, &response));
  return run.Say(response, LogDaysText(absl::StrCat("experiment ", id), days));
}

Command SetCommand(const char* property, const char* summary, const char* value,
                   absl::StatusOr<int> (*run)(Invocation&)) {
  return {{"experiment", "set", property},
          summary,
          {{"EXPERIMENT", "its id"}, {"VALUE", value}},
          {},
          run,
          "The same as `det job update`."};
}

}  // namespace

std::vector<Command> ExperimentSetCommands() {
  return {
      SetCommand("max-slots", "limit how many slots its trials hold at once",
                 "a number, or none for as many as there are",
                 [](Invocation& run) { return Set(run, "max-slots"); }),
      SetCommand("priority", "change its priority in the queue", "1 to 99, smaller goes first",
                 [](Invocation& run) { return Set(run, "priority"); }),
      SetCommand("weight", "change its part of a fair_share pool", "above 0",
                 [](Invocation& run) { return Set(run, "weight"); }),
      {{"experiment", "set", "log-retention"},
       "say how long the logs of its trials are kept",
       {{"EXPERIMENT", "its id"}},
       LogDaysOptions(),
       SetExperimentLogDays,
       "Of those to come, too; what was said of single trials is forgotten."},
  };
}

}  // namespace det::cli
