// What trials and other tasks wrote, line by line.
// Called by the commands that show logs, and by follow.cc, on any thread, which waits.
// A master that restarts meanwhile is waited for (patience.h).
#ifndef CLI_LOGS_H_
#define CLI_LOGS_H_

#include <string>

#include "absl/status/status.h"
#include "cli/api_client.h"
#include "cli/patience.h"
#include "cli/terminal.h"
#include "det/api/v1/task.pb.h"
#include "det/api/v1/trial.pb.h"

namespace det::cli {

// How they are shown: on stdout as text or as the API's JSON, or beside a JSON result on stderr.
enum class LogForm { kText, kJson, kAside };

// A line as shown: "[time] [rank=0] text".
std::string LogText(const api::v1::TrialLogsResponse& line, const Style& style);

// The lines that `request` asks for, each once, oldest first; with `follow` until the task has
// ended. In descending order `limit` counts from the end: the newest so many, oldest first all the
// same, and with `follow` those that come after them. kJson: one object per line. Ends early, OK,
// when stdout takes no more: Screen::output_error().
absl::Status PrintLogs(const ApiClient& api, api::v1::TrialLogsRequest request, LogForm form,
                       Screen* screen, Patience patience);
absl::Status PrintLogs(const ApiClient& api, api::v1::TaskLogsRequest request, LogForm form,
                       Screen* screen, Patience patience);

}  // namespace det::cli

#endif  // CLI_LOGS_H_
