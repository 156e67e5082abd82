// Which lines of a log are shown, as every `... logs` takes it.
#ifndef CLI_COMMANDS_LOG_OPTIONS_H_
#define CLI_COMMANDS_LOG_OPTIONS_H_

#include <vector>

#include "absl/status/status.h"
#include "cli/command.h"
#include "det/api/v1/task.pb.h"
#include "det/api/v1/trial.pb.h"

namespace det::cli {

std::vector<Option> LogOptions();

// All but whose log it is. A usage error names the option and what it takes.
absl::Status ReadLogOptions(const Invocation& run, api::v1::TrialLogsRequest* request);
absl::Status ReadLogOptions(const Invocation& run, api::v1::TaskLogsRequest* request);

}  // namespace det::cli

#endif  // CLI_COMMANDS_LOG_OPTIONS_H_
