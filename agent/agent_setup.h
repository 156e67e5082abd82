// The validated configuration of an agent and the resources that it holds.
//
// Used by Agent::Start() on its caller's thread; blocks.
#ifndef AGENT_AGENT_SETUP_H_
#define AGENT_AGENT_SETUP_H_

#include <vector>

#include "absl/status/statusor.h"
#include "agent/agent.h"
#include "agent/core/task.h"
#include "agent/driver/task_env.h"
#include "agent/link/master_address.h"
#include "base/fd.h"

namespace det::agent {

struct AgentSetup {
  AgentOptions options;  // complete: defaults are filled in
  std::vector<MasterAddress> masters;
  Host host;
  base::Fd lock;  // lock on the work directory, which excludes a second agent
};

// Detects the slots that the options select.
absl::StatusOr<std::vector<Device>> DetectSlots(const AgentOptions& options);

// Validates the options, creates the work directory and locks it. Errors name the flag to change.
absl::StatusOr<AgentSetup> PrepareAgent(AgentOptions options);

}  // namespace det::agent

#endif  // AGENT_AGENT_SETUP_H_
