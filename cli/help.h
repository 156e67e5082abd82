// Help texts of the whole program, of groups and of commands, from the table of commands.
// Used by main. Does no I/O.
#ifndef CLI_HELP_H_
#define CLI_HELP_H_

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/terminal.h"

namespace det::cli {

// Returns the help of a group; of the whole program for {}. Lists the commands with their
// arguments.
std::string HelpText(const std::vector<Command>& commands, const std::vector<std::string>& group,
                     const Style& style);

// Returns the help of a command: usage, summary, arguments, options, notes.
std::string HelpText(const Command& command, const Style& style);

}  // namespace det::cli

#endif  // CLI_HELP_H_
