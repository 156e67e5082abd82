// A cluster on this machine: a master and agents, each a process in its own session. Used only by
// `deploy local` on the main thread, which blocks. Never touches a process that it did not start:
// each is identified by PID and start time (<data dir>/cluster.json), a task by its task marker
// environment variable. If Up() fails, it stops the processes that it started, and no others.
#ifndef CLI_LOCAL_CLUSTER_H_
#define CLI_LOCAL_CLUSTER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "base/fd.h"
#include "cli/cluster_file.h"
#include "cli/orphaned_processes.h"

namespace det::cli {

class LocalTls;

// Unset options keep the values of the running cluster, or of the cluster before a reboot; after
// Down() they have the defaults.
struct ClusterOptions {
  std::optional<int> port = std::nullopt;    // default: 8080, with TLS 8443
  std::optional<int> agents = std::nullopt;  // default: 1
  std::optional<int> slots = std::nullopt;   // of each agent; default: its GPUs, else CPU cores
  std::optional<std::string> master_config = std::nullopt;  // absolute path; default: none
  // Passwords for the master that is started. Users without a password get a generated one.
  std::optional<std::string> admin_password = std::nullopt;
  std::optional<std::string> user_password = std::nullopt;
  bool allow_blank_passwords = false;
  std::optional<bool> gpu = std::nullopt;  // default: if the machine has GPUs
  bool tls = false;  // with a certificate authority of this cluster (local_tls.h)
};

struct UpResult {
  ClusterState state;
  std::vector<std::string> started;  // names of members; empty if all were already running
  bool repaired = false;             // the cluster or its tasks were running before
  std::string slots;  // which slots were chosen: "2 GPUs (NVIDIA H100)"; empty if none were
};

class LocalCluster {
 public:
  // Called with the step that is being waited for.
  using Progress = absl::FunctionRef<void(const std::string&)>;

  // `data_dir` is converted to an absolute path.
  explicit LocalCluster(const std::string& data_dir);

  const std::string& data_dir() const { return data_dir_; }

  // Returns the cluster that Up() started and Down() has not stopped; nullopt if none of its
  // members, tasks and PostgreSQL is running. Has no members if only tasks or PostgreSQL are
  // running.
  absl::StatusOr<std::optional<ClusterState>> Running() const;

  // Whether members or tasks are running, so that Up() keeps them and starts the missing members.
  bool IsRepairable(const ClusterState& state) const;

  // Returns task processes that are running without their agent.
  std::vector<TaskProcess> FindOrphanedTasks(const ClusterState& state) const;

  // Starts the members that are not running; tasks that have outlived them continue. Returns once
  // the master is ready and every agent is registered. Returns FAILED_PRECONDITION or
  // PERMISSION_DENIED with instructions, for example if the cluster is running with other options;
  // CANCELLED when interrupted. Waits for another Up() or Down() on the same data directory.
  absl::StatusOr<UpResult> Up(const ClusterOptions& options, Progress progress);

  // Returns the passwords that the master generated, one "admin password: ..." per line, and
  // removes them; empty afterwards.
  absl::StatusOr<std::string> TakePasswords();

  // Stops the agents and all tasks, then the master, which stops its PostgreSQL. Kills what does
  // not stop.
  absl::Status Down(Progress progress);

  // Adds an agent to a cluster whose master is running: `name`, or the next free name if it is
  // empty. Does nothing if the agent is running. Returns FAILED_PRECONDITION without a master.
  // Only `slots` and `gpu` of the options apply.
  absl::StatusOr<UpResult> AddAgent(const std::string& name, const ClusterOptions& options,
                                    Progress progress);

  // Stops one agent, or all, with their tasks and removes them from the cluster. Returns their
  // names.
  absl::StatusOr<std::vector<std::string>> RemoveAgents(const std::optional<std::string>& name,
                                                        Progress progress);

  // Stops only the master: agents keep running and wait for the next one. Returns whether a master
  // was running.
  absl::StatusOr<bool> MasterDown(Progress progress);

 private:
  // Locks the data directory for a command; waits for another command.
  static absl::StatusOr<base::Fd> LockDataDir(const std::string& data_dir, Progress progress);
  std::string Path(const std::string& name) const;
  absl::Status Start(int port, const ClusterOptions& options, Progress progress, UpResult* up);
  // Sets the slots of up->state.agents agents. `last` is the state that unset options keep;
  // `same_agents`: its agents are started again. Returns whether they keep their devices.
  static absl::StatusOr<bool> SetSlots(const ClusterOptions& options, const ClusterState& last,
                                       bool same_agents, UpResult* up);
  absl::Status StartAgent(const std::string& id, const std::string& program, bool gpu,
                          const LocalTls* tls, UpResult* up);
  // `tls` is nullptr if the cluster does not use TLS.
  absl::Status StartMaster(const std::string& program, int port, const ClusterOptions& options,
                           LocalTls* tls, UpResult* up);
  // Returns FAILED_PRECONDITION if --master-config is invalid or asks for something that `up` does
  // not support.
  absl::Status CheckConfig(const std::string& program, std::vector<std::string> flags,
                           const ClusterState& state) const;
  // `gpus` are those of an agent.
  absl::Status StartMember(const std::string& name, const std::string& program,
                           std::vector<std::string> flags,
                           const std::vector<std::string>& variables,
                           const std::vector<std::string>& gpus, UpResult* up);
  absl::Status AwaitMaster(ClusterState* state);
  absl::Status AwaitAgents(const ClusterState& state);
  // Returns OK while the member is running, else an error with its last log message.
  absl::Status CheckMember(const ClusterMember& member) const;
  void StopAll(const ClusterState& state, Progress progress);
  // Stops all agents of `state` and their tasks.
  void StopAgents(const ClusterState& state, Progress progress);
  void StopMaster(const Process& master, Progress progress);
  void RollBack(const UpResult& up, Progress progress);

  std::string data_dir_;
};

}  // namespace det::cli

#endif  // CLI_LOCAL_CLUSTER_H_
