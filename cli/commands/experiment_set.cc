// det experiment set max-slots|priority|weight|log-retention
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/experiment.h"
#include "cli/commands/job.h"
#include "cli/commands/log_retention.h"
#include "det/api/v1/log_retention.pb.h"

namespace det::cli {
namespace {

absl::StatusOr<int> Set(Invocation& run, const char* property) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("EXPERIMENT"));
  return UpdateJobs(run, {{absl::StrCat(id), property, run.args.Word("VALUE")}});
}

absl::StatusOr<int> RunExperimentSetLogRetention(Invocation& run) {
  api::v1::PutExperimentRetainLogsRequest request;
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("EXPERIMENT"));
  DET_ASSIGN_OR_RETURN(const int days, ReadLogRetention(run));
  request.set_experiment_id(id);
  request.set_num_days(days);
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::PutExperimentRetainLogsResponse response;
  DET_RETURN_IF_ERROR(api->Call("LogRetentionService.PutExperimentRetainLogs", request, &response));
  return run.PrintResult(response, FormatLogRetention(absl::StrCat("experiment ", id), days));
}

Command SetCommand(const char* property, const char* summary, const char* value,
                   absl::StatusOr<int> (*run)(Invocation&)) {
  return {{"experiment", "set", property},
          summary,
          {{"EXPERIMENT", "Experiment ID"}, {"VALUE", value}},
          {},
          run,
          "Same as `det job update`."};
}

}  // namespace

std::vector<Command> ExperimentSetCommands() {
  return {
      SetCommand("max-slots", "Limit the slots that an experiment uses at the same time",
                 "Number of slots, or none for no limit",
                 [](Invocation& run) { return Set(run, "max-slots"); }),
      SetCommand("priority", "Set the priority of an experiment",
                 "Priority from 1 to 99; smaller is served first",
                 [](Invocation& run) { return Set(run, "priority"); }),
      SetCommand("weight", "Set the weight of an experiment in a fair_share pool", "Weight above 0",
                 [](Invocation& run) { return Set(run, "weight"); }),
      {{"experiment", "set", "log-retention"},
       "Set how long the logs of an experiment are kept",
       {{"EXPERIMENT", "Experiment ID"}},
       LogRetentionOptions(),
       RunExperimentSetLogRetention,
       "The setting also applies to future trials and replaces the settings of single trials."},
  };
}

}  // namespace det::cli
