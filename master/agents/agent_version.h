// Which agent versions a master accepts. Called by agent_hub.cc on any thread. Pure.
#ifndef MASTER_AGENTS_AGENT_VERSION_H_
#define MASTER_AGENTS_AGENT_VERSION_H_

#include <string_view>

#include "absl/status/status.h"

namespace det::agents {

// Versions have the form "1.2.3". Returns OK for the master's own major and minor version and for
// the previous minor version, so that a cluster is upgraded master first, then agents one by one.
// FAILED_PRECONDITION for other versions, and INVALID_ARGUMENT for an invalid one; the errors name
// the version to install.
absl::Status CheckAgentVersion(std::string_view master, std::string_view agent);

}  // namespace det::agents

#endif  // MASTER_AGENTS_AGENT_VERSION_H_
