// The validated configuration of an agent and the resources that it holds.
//
// Used by Agent::Start() on its caller's thread; blocks.
#ifndef AGENT_AGENT_SETUP_H_
#define AGENT_AGENT_SETUP_H_

#include <vector>

#include "absl/status/statusor.h"
#include "agent/agent.h"
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

// Validates the options, creates the work directory and locks it. Errors name the flag to change.
absl::StatusOr<AgentSetup> PrepareAgent(AgentOptions options);

}  // namespace det::agent

#endif  // AGENT_AGENT_SETUP_H_
