// A cluster on this machine: a master and some agents as processes of their own sessions.
// Called by `deploy local` alone, on the main thread, which waits.
// Never touches a process that it did not start: each is known by pid and start time
// (<data dir>/cluster.json). Never leaves a half-started cluster: Up() that fails takes back what
// it began.
#ifndef CLI_LOCAL_CLUSTER_H_
#define CLI_LOCAL_CLUSTER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "cli/cluster_file.h"

namespace det::cli {

struct ClusterOptions {
  std::string data_dir;
  int port = 8080;
  int agents = 1;
  int slots = 1;  // of each agent
};

class LocalCluster {
 public:
  // Hears what is being waited for.
  using Progress = absl::FunctionRef<void(const std::string&)>;

  // `data_dir` is made absolute.
  explicit LocalCluster(const std::string& data_dir);

  const std::string& data_dir() const { return data_dir_; }

  // What Up() has started and Down() has not ended; nullopt if none of it lives.
  absl::StatusOr<std::optional<ClusterState>> Running() const;

  // Returns once the master answers and every agent is registered. FAILED_PRECONDITION and
  // PERMISSION_DENIED say what stands in the way and what to do; CANCELLED when interrupted.
  // What already runs is left as it is if all of it does, and ended before if not.
  absl::StatusOr<ClusterState> Up(const ClusterOptions& options, Progress progress);

  // Ends the agents, then the master, which ends its PostgreSQL; by force what does not go.
  absl::Status Down(Progress progress);

 private:
  std::string Path(const std::string& name) const;
  absl::Status Start(const ClusterOptions& options, Progress progress, ClusterState* state);
  absl::Status StartMember(const std::string& name, const std::string& program,
                           std::vector<std::string> flags, ClusterState* state);
  absl::Status AwaitMaster(ClusterState* state);
  absl::Status AwaitAgents(const ClusterState& state, int wanted);
  // Why a member has ended, in its own last words; OK while it lives.
  absl::Status CheckMember(const ClusterMember& member) const;
  void StopAll(const ClusterState& state, Progress progress);

  std::string data_dir_;
};

}  // namespace det::cli

#endif  // CLI_LOCAL_CLUSTER_H_
