#include "cli/commands/log_retention.h"

#include "absl/strings/str_cat.h"

namespace det::cli {

std::vector<Option> LogRetentionOptions() {
  return {{"days", 0, "N", "Days to keep logs after a trial ends; -1: forever"},
          {"forever", 0, "", "Keep logs forever"}};
}

absl::StatusOr<int> ReadLogRetention(const Invocation& run) {
  if (run.args.Has("days") == run.args.Has("forever")) {
    return UsageError("either --days or --forever is required");
  }
  if (run.args.Has("forever")) return -1;
  return run.args.GetInt("days", 0, -1, 32'767);
}

std::string FormatLogRetention(const std::string& of, int days) {
  if (days < 0) return absl::StrCat("the logs of ", of, " are kept forever\n");
  return absl::StrCat("the logs of ", of, " are kept for ", days, days == 1 ? " day" : " days",
                      "\n");
}

}  // namespace det::cli
