// The members and options of a local cluster, stored in <data dir>/cluster.json. Used by
// local_cluster. Never inspects processes, except where a function says so.
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
  std::vector<std::string> gpus = {};  // UUIDs of the GPUs of an agent; empty: CPU slots
};

struct ClusterState {
  std::string url;
  int agents = 0;
  int first_agents = 0;       // at the start of the cluster, before agents were added or removed
  int slots = 0;              // of each agent
  bool gpu = false;           // new agents offer GPUs
  std::string master_config;  // absolute path; empty: none
  bool tls = false;
  bool allow_blank_passwords = false;
  // Hashes of the passwords that the master was started with; empty: none.
  std::string admin_password;
  std::string user_password;
  std::vector<ClusterMember> members;  // the master first

  bool AllAlive() const;  // true only if no member is missing
  bool AnyAlive() const;
  // Returns the names of the agents that were started, then of those to start, up to `agents`.
  std::vector<std::string> AgentNames() const;
  const ClusterMember* Find(const std::string& name) const;  // nullptr if there is none
  bool IsRunning(const std::string& name) const;
  int port() const;  // port of `url`; 0 if it is empty
};

// Returns NOT_FOUND if there is no file, DATA_LOSS with instructions if the file is damaged.
absl::StatusOr<ClusterState> ReadClusterFile(const std::string& path);

absl::Status WriteClusterFile(const std::string& path, const ClusterState& state);

}  // namespace det::cli

#endif  // CLI_CLUSTER_FILE_H_
