// Shared by `det agent` and `det slot`.
#ifndef CLI_COMMANDS_AGENT_H_
#define CLI_COMMANDS_AGENT_H_

#include <vector>

#include "cli/command.h"
#include "det/api/v1/agent.pb.h"

namespace det::cli {

// Returns the slots sorted by number; the map of the message has no order.
std::vector<api::v1::Slot> GetSlots(const api::v1::Agent& agent);

std::vector<Command> SlotCommands();

}  // namespace det::cli

#endif  // CLI_COMMANDS_AGENT_H_
