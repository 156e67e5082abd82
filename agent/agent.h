// The agent of one machine: builds its parts, ties them together, starts and ends them.
//
//   MasterLink --orders--> Supervisor --actions--> ProcessDriver --news--> Supervisor
//        ^                     |                        | lines
//        +------- reports -----+     LogShipper <-------+
//
// Made by main and by tests. Its parts meet on one event loop of its own.
// Never decides anything itself: that is the supervisor's.
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
  std::string master;  // http://host:port, or https; several with commas between
  TlsOptions tls;
  std::string id;
  std::string resource_pool = "default";
  std::optional<int> slots;       // artificial ones; else what the machine has
  std::string artificial_device;  // their name; empty: the processor's
  int artificial_islands = 1;
  std::optional<double> cpus;     // absent: the machine's; 0: not counted
  std::optional<int64_t> memory;  // bytes; likewise
  std::string network_switch;     // empty: unknown
  std::map<std::string, std::string> labels;
  std::string work_dir;
  std::string keeper;                            // path of resolute-keeper
  int64_t log_spool_limit = int64_t{256} << 20;  // bytes of output kept for each task
  bool stop_tasks = false;                       // whatever ends the agent ends its tasks
  std::string token;                             // empty: none
  std::string sdk_dir;                           // empty: none
  std::string python_dir;                        // empty: none
  std::string address;                           // empty: the one that leads to the master
  absl::Duration stop_grace = absl::Seconds(10);
  // How long to go on asking for an id that is in use: its last holder may be about to end.
  absl::Duration id_patience = absl::Seconds(30);
};

class Agent {
 public:
  // Takes up the tasks that an agent before this one left in the folder.
  // `on_end` runs once, on the agent's thread: OK after Stop, else why the agent cannot go on. It
  // must not destroy the agent. Refusals name the flag to change.
  static absl::StatusOr<std::unique_ptr<Agent>> Start(
      const AgentOptions& options, absl::AnyInvocable<void(absl::Status)> on_end);

  // Tasks that run go on.
  virtual ~Agent() = default;

  // Calls `on_end` at once: the tasks are left to the next agent. With `stop_tasks`: stops them
  // gently and reports their ends before; called again then: kills them now. Any thread.
  virtual void Stop(bool stop_tasks) = 0;
};

}  // namespace det::agent

#endif  // AGENT_AGENT_H_
