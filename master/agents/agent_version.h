// Which versions of the agent a master takes. Called by agent_hub.cc on any thread. Pure.
#ifndef MASTER_AGENTS_AGENT_VERSION_H_
#define MASTER_AGENTS_AGENT_VERSION_H_

#include <string_view>

#include "absl/status/status.h"

namespace det::agents {

// Both as "1.2.3". OK for the master's own major and minor version and for the minor version
// before, so that a cluster is upgraded master first, agents one by one. FAILED_PRECONDITION for
// others, and INVALID_ARGUMENT for what is no version, with what to install.
absl::Status CheckAgentVersion(std::string_view master, std::string_view agent);

}  // namespace det::agents

#endif  // MASTER_AGENTS_AGENT_VERSION_H_
