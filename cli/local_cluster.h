// A cluster on this machine: a master and some agents as processes of their own sessions.
// Called by `deploy local` alone, on the main thread, which waits.
// Never touches a process that it did not start: each is known by pid and start time
// (<data dir>/cluster.json), a task by the mark in its environment. Never leaves a half-started
// cluster: Up() that fails takes back what it began, and nothing else.
#ifndef CLI_LOCAL_CLUSTER_H_
#define CLI_LOCAL_CLUSTER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "base/fd.h"
#include "cli/cluster_file.h"
#include "cli/leftovers.h"

namespace det::cli {

class LocalTls;

// What is left out is as it runs, or as it ran until its machine went down; after Down() the
// default.
struct ClusterOptions {
  std::optional<int> port = std::nullopt;    // 8080, with TLS 8443
  std::optional<int> agents = std::nullopt;  // 1
  std::optional<int> slots = std::nullopt;   // of each agent; as many as there are cores
  std::optional<std::string> master_config = std::nullopt;  // absolute path; none
  // Of the master that is started; without, users who have no password get one that is made.
  std::optional<std::string> admin_password = std::nullopt;
  std::optional<std::string> user_password = std::nullopt;
  bool allow_blank_passwords = false;
  bool tls = false;  // by an authority of the cluster's own (local_tls.h)
};

struct UpResult {
  ClusterState state;
  std::vector<std::string> started;  // names of members; empty: all ran already
};

class LocalCluster {
 public:
  // Hears what is being waited for.
  using Progress = absl::FunctionRef<void(const std::string&)>;

  // `data_dir` is made absolute.
  explicit LocalCluster(const std::string& data_dir);

  const std::string& data_dir() const { return data_dir_; }

  // What Up() has started and Down() has not ended; nullopt if none of it lives, no task and no
  // PostgreSQL either. Without members if only these do.
  absl::StatusOr<std::optional<ClusterState>> Running() const;

  // Tasks that live although their agent does not.
  std::vector<TaskProcess> Leftovers(const ClusterState& state) const;

  // Returns once the master answers and every agent is registered; starts only what does not live.
  // FAILED_PRECONDITION and PERMISSION_DENIED say what stands in the way and what to do, as a
  // cluster that runs with other options; CANCELLED when interrupted. Waits for another Up() or
  // Down() on the same data directory.
  absl::StatusOr<UpResult> Up(const ClusterOptions& options, Progress progress);

  // The passwords that the master has made, "admin password: ..." by line, once; then nothing.
  absl::StatusOr<std::string> TakePasswords();

  // Ends the agents and all tasks, then the master, which ends its PostgreSQL; by force what does
  // not go.
  absl::Status Down(Progress progress);

  // One more agent of a cluster whose master runs: `name`, or the next without one. Starts nothing
  // where it lives. FAILED_PRECONDITION without a master.
  absl::StatusOr<UpResult> AddAgent(const std::string& name, std::optional<int> slots,
                                    Progress progress);

  // Ends one agent, or all, with their tasks; the cluster is without them from then on. Their
  // names.
  absl::StatusOr<std::vector<std::string>> RemoveAgents(const std::optional<std::string>& name,
                                                        Progress progress);

  // Ends the master alone: agents go on and wait for the next. Whether there was one.
  absl::StatusOr<bool> MasterDown(Progress progress);

 private:
  // Held while a command is at work on the data directory; waits for another.
  static absl::StatusOr<base::Fd> LockDataDir(const std::string& data_dir, Progress progress);
  std::string Path(const std::string& name) const;
  absl::Status Start(int port, const ClusterOptions& options, Progress progress, UpResult* up);
  // `tls`: nullptr without.
  absl::Status StartMaster(const std::string& program, int port, const ClusterOptions& options,
                           LocalTls* tls, UpResult* up);
  // FAILED_PRECONDITION for a --master-config that is wrong, or asks for what `up` cannot do.
  absl::Status CheckConfig(const std::string& program, std::vector<std::string> flags,
                           const ClusterState& state) const;
  absl::Status StartMember(const std::string& name, const std::string& program,
                           std::vector<std::string> flags,
                           const std::vector<std::string>& variables, UpResult* up);
  absl::Status AwaitMaster(ClusterState* state);
  absl::Status AwaitAgents(const ClusterState& state);
  // Why a member has ended, in its own last words; OK while it lives.
  absl::Status CheckMember(const ClusterMember& member) const;
  void StopAll(const ClusterState& state, Progress progress);
  // All of `state`, and their tasks.
  void StopAgents(const ClusterState& state, Progress progress);
  void StopMaster(const Process& master, Progress progress);
  void TakeBack(const UpResult& up, Progress progress);

  std::string data_dir_;
};

}  // namespace det::cli

#endif  // CLI_LOCAL_CLUSTER_H_
