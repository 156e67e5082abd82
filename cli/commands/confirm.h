// Asks for confirmation before changes that cannot be undone.
#ifndef CLI_COMMANDS_CONFIRM_H_
#define CLI_COMMANDS_CONFIRM_H_

#include <string>

#include "absl/status/status.h"
#include "cli/command.h"

namespace det::cli {

extern const Option kYes;  // --yes

// Returns OK with --yes, or if the user answers `question` ("Delete experiment 7?") with y on a
// terminal. Otherwise returns FAILED_PRECONDITION, also if there is no terminal.
absl::Status Confirm(const Invocation& run, const std::string& question);

}  // namespace det::cli

#endif  // CLI_COMMANDS_CONFIRM_H_
