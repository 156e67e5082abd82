// Prints the logs of trials and other tasks. Used by the commands that show logs, and by follow.cc,
// on any thread, which blocks. If the master restarts, waits for it (retry_policy.h).
#ifndef CLI_LOGS_H_
#define CLI_LOGS_H_

#include <string>

#include "absl/status/status.h"
#include "cli/api_client.h"
#include "cli/retry_policy.h"
#include "cli/terminal.h"
#include "det/api/v1/task.pb.h"
#include "det/api/v1/trial.pb.h"

namespace det::cli {

// Where and how lines are printed: on stdout as text or as JSON of the API, or on stderr if stdout
// has a JSON result.
enum class LogFormat { kText, kJson, kStderr };

// Returns the text of a line: "[time] [rank=0] text".
std::string FormatLogLine(const api::v1::TrialLogsResponse& line, const Style& style);

// Prints the lines that `request` selects, each once, oldest first; with `follow` until the task
// has ended. In descending order `limit` selects the newest lines; they are printed oldest first,
// and with `follow` all later lines are printed too. kJson prints one object per line. Returns OK
// early if stdout cannot be written: see Screen::output_error().
absl::Status PrintLogs(const ApiClient& api, api::v1::TrialLogsRequest request, LogFormat form,
                       Screen* screen, RetryPolicy retry);
absl::Status PrintLogs(const ApiClient& api, api::v1::TaskLogsRequest request, LogFormat form,
                       Screen* screen, RetryPolicy retry);

}  // namespace det::cli

#endif  // CLI_LOGS_H_
