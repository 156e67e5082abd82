// The agent of one machine: creates, connects, starts and stops its components.
//
//   MasterLink --orders--> Supervisor --actions--> ProcessDriver --events-> Supervisor
//        ^                     |                        | lines
//        +------- reports -----+     LogShipper <-------+
//
// Created by main and by tests. The components run on one event loop that the agent owns. Decisions
// are made by the supervisor, not here.
#ifndef AGENT_AGENT_H_
#define AGENT_AGENT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/link/tls_options.h"

namespace det::agent {

struct AgentOptions {
  std::string master;  // http://host:port or https://host:port; several separated by commas
  TlsOptions tls;
  std::string id;
  std::string resource_pool = "default";
  // number of artificial slots; if not set, the machine's devices are detected
  std::optional<int> slots;
  std::string artificial_device;  // name of the artificial device; empty: the processor's name
  int artificial_islands = 1;
  std::string slot_type = "auto";           // which devices are detected (device/detector.h)
  std::optional<std::string> visible_gpus;  // not set: all GPUs that the environment allows
  std::optional<double> cpus;     // not set: the machine's; 0: not counted
  std::optional<int64_t> memory;  // bytes; same rules as `cpus`
  std::map<std::string, std::string> proxies;  // of tasks, by variable: "https_proxy"
  std::string network_switch;     // empty: unknown
  std::map<std::string, std::string> labels;
  std::string work_dir;
  std::string keeper;                            // path of resolute-keeper
  std::string runner;                            // path of resolute-runner; empty: none
  int64_t log_spool_limit = int64_t{256} << 20;  // bytes of output kept for each task
  bool stop_tasks = false;                       // stop the tasks whenever the agent ends
  std::string token;                             // empty: none
  std::string sdk_dir;                           // empty: none
  std::string python_dir;                        // empty: none
  std::string cli_dir;                           // the directory of `det`; empty: none
  std::string address;  // empty: this machine's address on the route to the master
  absl::Duration stop_grace = absl::Seconds(10);
  // How long to retry registration while the id is in use: its previous holder may be about to end.
  absl::Duration id_in_use_timeout = absl::Seconds(30);
};

class Agent {
 public:
  // Starts an agent and reattaches to the tasks that a previous agent left in the work directory.
  // `on_end` is called once, on the agent's thread: with OK after Stop, otherwise with the reason
  // why the agent cannot continue. It must not destroy the agent. Errors name the flag to change.
  static absl::StatusOr<std::unique_ptr<Agent>> Start(
      const AgentOptions& options, absl::AnyInvocable<void(absl::Status)> on_end);

  // Running tasks continue.
  virtual ~Agent() = default;

  // Calls `on_end` at once and leaves the tasks to the next agent. With `stop_tasks`, first stops
  // the tasks with a grace period and reports their exits; a second such call kills them
  // immediately. Any thread.
  virtual void Stop(bool stop_tasks) = 0;
};

}  // namespace det::agent

#endif  // AGENT_AGENT_H_
