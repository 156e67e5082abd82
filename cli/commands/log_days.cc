#include "cli/commands/log_days.h"

#include "absl/strings/str_cat.h"

namespace det::cli {

std::vector<Option> LogDaysOptions() {
  return {{"days", 0, "N", "so many days after a trial's end"}, {"forever", 0, "", "for ever"}};
}

absl::StatusOr<int> LogDays(const Invocation& run) {
  if (run.args.Has("days") == run.args.Has("forever")) {
    return UsageError("give either --days or --forever");
  }
  if (run.args.Has("forever")) return -1;
  return run.args.GetInt("days", 0, 0, 32'767);
}

std::string LogDaysText(const std::string& of, int days) {
  if (days < 0) return absl::StrCat("the logs of ", of, " are kept for ever\n");
  return absl::StrCat("the logs of ", of, " are kept for ", days, days == 1 ? " day" : " days",
                      "\n");
}

}  // namespace det::cli
