// The options of all `... logs` commands that select log lines.
#ifndef CLI_COMMANDS_LOG_OPTIONS_H_
#define CLI_COMMANDS_LOG_OPTIONS_H_

#include <vector>

#include "absl/status/status.h"
#include "cli/command.h"
#include "det/api/v1/task.pb.h"
#include "det/api/v1/trial.pb.h"

namespace det::cli {

std::vector<Option> LogOptions();

// Sets all fields of the request except the ID. Usage errors name the option and the expected
// value.
absl::Status ReadLogOptions(const Invocation& run, api::v1::TrialLogsRequest* request);
absl::Status ReadLogOptions(const Invocation& run, api::v1::TaskLogsRequest* request);

}  // namespace det::cli

#endif  // CLI_COMMANDS_LOG_OPTIONS_H_
