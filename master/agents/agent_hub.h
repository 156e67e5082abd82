// The master's side of the agent protocol: one stream per agent. Reports become events for the
// engine, commands of the engine are sent on the agents' streams; logs, context directories and
// tunnels use separate calls.
//
// master.cc registers it with the gRPC server, whose threads run it; the engine calls it on its
// loop. Makes no decisions about tasks.
#ifndef MASTER_AGENTS_AGENT_HUB_H_
#define MASTER_AGENTS_AGENT_HUB_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/event_loop.h"
#include "base/thread_pool.h"
#include "master/agents/topology.h"
#include "master/auth/authenticator.h"
#include "master/core/model/ids.h"
#include "master/core/model/reports.h"
#include "master/engine/engine.h"
#include "master/engine/sinks.h"
#include "master/proxy/task_dialer.h"
#include "master/store/interfaces/store.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace det::agents {

struct HubOptions {
  std::string cluster_id;
  std::string version;
  // How long an agent may be disconnected before its allocations end.
  absl::Duration reconnect_timeout = absl::Hours(1);
  Topology topology;
  // The master's base::GetMachineId(): agents with the same are reached without a tunnel. Empty:
  // unknown.
  std::string machine_id;
  // Try agents' addresses before tunnels.
  bool direct_proxy = false;
  // How long an agent may take to open a tunnel.
  absl::Duration tunnel_timeout = absl::Seconds(10);
};

// Dependencies of the hub; all must outlive it. The engine is set after construction, since it
// needs the hub as a sink.
struct HubDeps {
  store::Store* store = nullptr;
  auth::Authenticator* authenticator = nullptr;
  base::ThreadPool* pool = nullptr;  // for blocking work
  base::EventLoop* loop = nullptr;   // for timers
  // Called when log lines of a task were stored.
  std::function<void(const model::TaskId&)> on_logs_stored;
  // Checks lines that were stored; may block, may be null. If it fails, the agent sends the lines
  // again.
  std::function<absl::Status(const std::vector<model::LogLine>&)> check_logs = {};
};

class AgentHub final : public engine::AgentSink, public proxy::TaskDialer {
 public:
  AgentHub(HubOptions options, HubDeps deps);
  ~AgentHub() override;

  // Call once, before any agent connects.
  void SetEngine(engine::Engine* engine);

  // Call after the engine has started: gives agents that were connected before the restart the full
  // reconnect timeout.
  void ExpectAgents();

  // The service to register with the server; owned by the hub.
  grpc::Service* service();

  // While false, all streams and tunnels are closed and new ones are refused with UNAVAILABLE,
  // since a master without a lease must not command agents. Initially true. Any thread.
  void SetLeading(bool leading);

  // Closes all streams and tunnels; later ones are refused with UNAVAILABLE. Waits for the tunnels.
  void Stop();

  // Commands for a disconnected agent are dropped: the cluster repeats them when the agent
  // registers.
  void Start(const cluster::StartTask& order) override;
  void Stop(const cluster::StopTask& order) override;

  void Dial(const model::AgentId& agent, int port, proxy::Interface interface,
            Reply reply) override;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace det::agents

#endif  // MASTER_AGENTS_AGENT_HUB_H_
