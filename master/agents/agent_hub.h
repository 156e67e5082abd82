// The agents' side of the master: one stream per agent. Reports rise to the engine as events,
// orders fall to the agents' streams; logs and contexts travel by calls of their own.
//
// Registered with the gRPC server by master.cc, whose threads run it; the engine gives orders on
// its loop. Never decides anything about tasks: it carries.
#ifndef MASTER_AGENTS_AGENT_HUB_H_
#define MASTER_AGENTS_AGENT_HUB_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

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
#include "master/store/interfaces/store.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace det::agents {

struct HubOptions {
  std::string cluster_id;
  std::string version;
  // How long an agent may be away before its tasks are given up.
  absl::Duration patience = absl::Hours(1);
  Topology topology;
};

// What the hub works with; all must outlive it. `engine` is set after construction, as the engine
// needs the hub for its sink.
struct HubDeps {
  store::Store* store = nullptr;
  auth::Authenticator* authenticator = nullptr;
  base::ThreadPool* pool = nullptr;  // for what blocks
  base::EventLoop* loop = nullptr;   // for timers
  // Lines of this task were stored.
  std::function<void(const model::TaskId&)> logs_arrived;
  // Looks at lines that were stored; may block, may be null. What it does not take comes again.
  std::function<absl::Status(const std::vector<model::LogLine>&)> look_at_logs = {};
};

class AgentHub final : public engine::AgentSink {
 public:
  AgentHub(HubOptions options, HubDeps deps);
  ~AgentHub() override;

  // Once, before any agent connects.
  void SetEngine(engine::Engine* engine);

  // After the engine's start: gives the agents that were there before the restart the same patience
  // as those that went away just now.
  void ExpectAgents();

  // To be registered with the server; owned by the hub.
  grpc::Service* service();

  // While false, every stream is ended and refused with UNAVAILABLE: one that may not lead any more
  // does not command. True at first. Any thread.
  void SetLeading(bool leading);

  // Ends every stream; later ones are refused with UNAVAILABLE.
  void Stop();

  // Orders for an agent that is not connected are dropped: the cluster gives them again when it
  // registers.
  void Start(const cluster::StartTask& order) override;
  void Stop(const cluster::StopTask& order) override;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace det::agents

#endif  // MASTER_AGENTS_AGENT_HUB_H_
