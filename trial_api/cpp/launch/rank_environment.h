// The variables with which the launcher starts a rank (docs/task_environment.md). Called on the
// main thread.
#ifndef TRIAL_API_CPP_LAUNCH_RANK_ENVIRONMENT_H_
#define TRIAL_API_CPP_LAUNCH_RANK_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "trial_api/cpp/core/ranks.h"
#include "trial_api/cpp/core/trial_client.h"

namespace det::launch {

// The launcher's own variables, "NAME=value" each.
std::vector<std::string> CurrentEnvironment();

// Which ranks run on this machine, one per slot. Throws Error when `agent_id` is not among the
// nodes.
std::vector<Ranks> RanksOfNode(const std::vector<core::Node>& nodes, const std::string& agent_id);

struct RankExtras {
  std::string node_address;    // empty: only one machine
  std::string rendezvous_dir;  // empty: on the cluster
  bool single_thread = false;  // unless the user chose a number of threads
};

// The launcher's environment with those of the rank.
std::vector<std::string> RankEnvironment(const Ranks& ranks, const RankExtras& extras);

}  // namespace det::launch

#endif  // TRIAL_API_CPP_LAUNCH_RANK_ENVIRONMENT_H_
