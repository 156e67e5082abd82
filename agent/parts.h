// What an agent is made of, once all that can be refused has been checked.
//
// Used by Agent::Start() on its caller's thread; blocks.
#ifndef AGENT_PARTS_H_
#define AGENT_PARTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "agent/agent.h"
#include "agent/driver/task_env.h"
#include "agent/link/master_link.h"
#include "base/fd.h"

namespace det::agent {

struct Parts {
  AgentOptions options;  // whole: what they left open is filled in
  std::vector<MasterAddress> masters;
  Host host;
  base::Fd lock;  // of the folder: keeps a second agent out of it
};

// Makes the folder and takes it. Refusals name the flag to change.
absl::StatusOr<Parts> Prepare(AgentOptions options);

}  // namespace det::agent

#endif  // AGENT_PARTS_H_
