// What runs of a local cluster, as a small file: <data dir>/cluster.json.
// Called by local_cluster. Never looks at processes.
#ifndef CLI_CLUSTER_FILE_H_
#define CLI_CLUSTER_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/process.h"

namespace det::cli {

struct ClusterMember {
  std::string name;  // "master", "agent-0"
  Process process;
  std::string log;  // path
};

struct ClusterState {
  std::string url;
  int agents = 0;
  int slots = 0;              // of each agent
  std::string master_config;  // absolute path; empty: none
  bool tls = false;
  bool allow_blank_passwords = false;
  std::vector<ClusterMember> members;  // the master first

  bool AllAlive() const;  // and none is missing
  bool AnyAlive() const;
  // Of those that were started, then of those that still have to be, up to `agents`.
  std::vector<std::string> AgentNames() const;
  const ClusterMember* Find(const std::string& name) const;  // nullptr: none
  bool Lives(const std::string& name) const;
  int port() const;  // of `url`; 0 without one
};

// NOT_FOUND without a file, DATA_LOSS for one that is damaged, which says what to do.
absl::StatusOr<ClusterState> ReadClusterFile(const std::string& path);

absl::Status WriteClusterFile(const std::string& path, const ClusterState& state);

}  // namespace det::cli

#endif  // CLI_CLUSTER_FILE_H_
