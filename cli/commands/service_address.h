// Shows the web pages that tasks serve. Used by the commands of notebooks and TensorBoards.
#ifndef CLI_COMMANDS_SERVICE_ADDRESS_H_
#define CLI_COMMANDS_SERVICE_ADDRESS_H_

#include <string>

#include "cli/api_client.h"
#include "cli/command.h"

namespace det::cli {

// Option of the commands that call ShowService.
extern const Option kNoBrowser;

// Prints "<title> is running at: <URL>", which existing scripts read, and opens the URL in a
// browser unless --no-browser is given. `address` is a path of the master.
void ShowService(Invocation& run, const ApiClient& api, const std::string& title,
                 const std::string& address);

}  // namespace det::cli

#endif  // CLI_COMMANDS_SERVICE_ADDRESS_H_
