// Asks before something is done that cannot be undone.
#ifndef CLI_COMMANDS_CONFIRM_H_
#define CLI_COMMANDS_CONFIRM_H_

#include <string>

#include "absl/status/status.h"
#include "cli/command.h"

namespace det::cli {

extern const Option kYes;  // --yes

// OK with --yes, or when `question` ("Delete experiment 7?") is answered by y on a terminal.
// FAILED_PRECONDITION else: without a terminal nobody can answer.
absl::Status Confirm(const Invocation& run, const std::string& question);

}  // namespace det::cli

#endif  // CLI_COMMANDS_CONFIRM_H_
