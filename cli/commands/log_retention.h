// The options of `... set log-retention`.
#ifndef CLI_COMMANDS_LOG_RETENTION_H_
#define CLI_COMMANDS_LOG_RETENTION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/command.h"

namespace det::cli {

std::vector<Option> LogRetentionOptions();
// Returns the days, -1 for --forever. Returns a usage error unless exactly one option is given.
absl::StatusOr<int> ReadLogRetention(const Invocation& run);
std::string FormatLogRetention(const std::string& of, int days);

}  // namespace det::cli

#endif  // CLI_COMMANDS_LOG_RETENTION_H_
