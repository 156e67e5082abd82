// det experiment set max-slots|priority|weight
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/experiment.h"
#include "cli/commands/job.h"

namespace det::cli {
namespace {

absl::StatusOr<int> Set(Invocation& run, const char* property) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("EXPERIMENT"));
  return UpdateJobs(run, {{absl::StrCat(id), property, run.args.Word("VALUE")}});
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
  };
}

}  // namespace det::cli
