// The environment variables of a rank (docs/task_environment.md). Called on the main thread.
#ifndef TRIAL_API_CPP_LAUNCH_RANK_ENVIRONMENT_H_
#define TRIAL_API_CPP_LAUNCH_RANK_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "trial_api/cpp/core/ranks.h"
#include "trial_api/cpp/core/trial_client.h"

namespace det::launch {

// Returns the launcher's environment, "NAME=value" each.
std::vector<std::string> CurrentEnvironment();

// Returns the ranks of this machine, one per slot. Throws Error if `agent_id` is not among the
// nodes.
std::vector<Ranks> GetRanksOfNode(const std::vector<core::Node>& nodes,
                                  const std::string& agent_id);

struct RankExtras {
  std::string node_address;    // empty: only one machine
  std::string rendezvous_dir;  // empty: on the cluster
  bool single_thread = false;  // limit the rank to one thread, unless the user set a number
};

// Returns the launcher's environment with the variables of the rank.
std::vector<std::string> RankEnvironment(const Ranks& ranks, const RankExtras& extras);

}  // namespace det::launch

#endif  // TRIAL_API_CPP_LAUNCH_RANK_ENVIRONMENT_H_
