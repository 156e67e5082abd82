// How long logs are kept, as `... set log-retention` asks for it.
#ifndef CLI_COMMANDS_LOG_DAYS_H_
#define CLI_COMMANDS_LOG_DAYS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/command.h"

namespace det::cli {

std::vector<Option> LogDaysOptions();
// -1 for ever. A usage error unless one of the two is given.
absl::StatusOr<int> LogDays(const Invocation& run);
std::string LogDaysText(const std::string& of, int days);

}  // namespace det::cli

#endif  // CLI_COMMANDS_LOG_DAYS_H_
