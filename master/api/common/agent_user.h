// As which user of its machine an agent runs its tasks.
#ifndef MASTER_API_COMMON_AGENT_USER_H_
#define MASTER_API_COMMON_AGENT_USER_H_

#include <string>

#include "master/core/cluster/cluster.h"
#include "master/core/experiment/allocation.h"

namespace det::api {

// Returns the user of the allocation's first local task, which its agent reports as a label; empty:
// unknown.
inline std::string GetAgentUser(const cluster::Cluster& cluster,
                                const experiment::Allocation& allocation) {
  if (allocation.local_tasks.empty()) return "";
  const auto agent = cluster.agents().find(allocation.local_tasks.front().placement.agent);
  if (agent == cluster.agents().end()) return "";
  const auto label = agent->second.labels.find("user");
  return label == agent->second.labels.end() ? "" : label->second;
}

}  // namespace det::api

#endif  // MASTER_API_COMMON_AGENT_USER_H_
