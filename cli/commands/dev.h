// Shared by the files of `det dev`.
#ifndef CLI_COMMANDS_DEV_H_
#define CLI_COMMANDS_DEV_H_

#include <vector>

#include "cli/command.h"

namespace det::cli {

// Returns curl, api list and api call.
std::vector<Command> DevApiCommands();

}  // namespace det::cli

#endif  // CLI_COMMANDS_DEV_H_
