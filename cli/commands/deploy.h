// What the commands of `det deploy local` have in common. Called by deploy.cc and deploy_parts.cc.
#ifndef CLI_COMMANDS_DEPLOY_H_
#define CLI_COMMANDS_DEPLOY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/command.h"
#include "cli/local_cluster.h"

namespace det::cli {

extern const Option kDataDir;
LocalCluster ClusterOf(const Invocation& run);

// Shows each step of a cluster's start or stop where it can be written over.
inline auto ShowSteps(Invocation& run) {
  return [&run](const std::string& step) {
    if (run.screen->err().in_place) run.screen->Progress(step);
  };
}

// An option that may be left out.
absl::StatusOr<std::optional<int>> Given(const Invocation& run, const char* option, int least,
                                         int most);

// "http://127.0.0.1:8080  2 agents, 4 slots"
std::string Summary(const ClusterState& state);

// `passwords`: those that were made just now. nullptr: nothing runs.
std::string ToJsonText(const LocalCluster& cluster, const ClusterState* state,
                       const std::string& passwords = "");

// Starts what the options say. `alone`: without agents, where nothing runs yet.
absl::StatusOr<int> UpLocal(Invocation& run, bool alone);
const std::vector<Option>& UpOptions();

std::vector<Command> DeployPartCommands();

}  // namespace det::cli

#endif  // CLI_COMMANDS_DEPLOY_H_
