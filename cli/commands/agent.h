// What `det agent` and `det slot` share.
#ifndef CLI_COMMANDS_AGENT_H_
#define CLI_COMMANDS_AGENT_H_

#include <vector>

#include "cli/command.h"
#include "det/api/v1/agent.pb.h"

namespace det::cli {

// By number: a map of the wire is in no order.
std::vector<api::v1::Slot> SlotsOf(const api::v1::Agent& agent);

std::vector<Command> SlotCommands();

}  // namespace det::cli

#endif  // CLI_COMMANDS_AGENT_H_
