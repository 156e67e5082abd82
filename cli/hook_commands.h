// The commands of webhooks and of policies for configurations. Called by AllCommands.
#ifndef CLI_HOOK_COMMANDS_H_
#define CLI_HOOK_COMMANDS_H_

#include <vector>

#include "cli/command.h"

namespace det::cli {

std::vector<Command> WebhookCommands();
std::vector<Command> ConfigPoliciesCommands();

}  // namespace det::cli

#endif  // CLI_HOOK_COMMANDS_H_
