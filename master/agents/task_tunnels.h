// Connects the master to ports of agents' machines: directly, or through tunnels over the agents'
// connections.
//
// Used by agent_hub.cc, which knows how to reach an agent. One thread relays all tunnels. Methods
// may be called on any thread.
#ifndef MASTER_AGENTS_TASK_TUNNELS_H_
#define MASTER_AGENTS_TASK_TUNNELS_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/event_loop.h"
#include "base/io_thread.h"
#include "det/agent/v1/agent.pb.h"
#include "master/agents/agent_connection.h"
#include "master/core/model/ids.h"
#include "master/proxy/task_dialer.h"
#include <boost/asio/awaitable.hpp>
#include <grpcpp/grpcpp.h>

namespace det::agents {

struct TunnelOptions {
  std::string machine_id;  // of the master; empty: unknown
  // Try agents' addresses before tunnels.
  bool direct = false;
  // How long an agent may take to open a tunnel.
  absl::Duration timeout = absl::Seconds(10);
};

// How to reach an agent.
struct AgentRoute {
  model::AgentId agent;
  std::string machine_id;
  std::string address;
  std::shared_ptr<AgentConnection> connection;  // null: not connected
};

class TaskTunnels final : public std::enable_shared_from_this<TaskTunnels> {
 public:
  using Reply = proxy::TaskDialer::Reply;
  using Reactor = grpc::ServerBidiReactor<det::agent::v1::TunnelData, det::agent::v1::TunnelData>;
  // Calls `done` with OK if the caller is an agent.
  using Authorize = absl::AnyInvocable<void(absl::AnyInvocable<void(absl::Status)> done)>;

  // `loop` is for timers, and must outlive this object.
  TaskTunnels(TunnelOptions options, base::EventLoop* loop);

  // See TaskDialer.
  void Dial(AgentRoute route, int port, proxy::Interface interface, Reply reply);

  // Serves a call of Tunnel.
  Reactor* Accept(grpc::CallbackServerContext* context, Authorize authorize);

  // The agent opens no more tunnels that were requested on this connection.
  void OnDisconnected(const AgentConnection* connection);

  // Breaks all tunnels, and fails those that are not open yet. Direct connections remain.
  void CloseAll(const absl::Status& why);

  // CloseAll; later calls are refused. Waits until all tunnels have ended. Must be called before
  // destruction.
  void Stop();

 private:
  class Tunnel;

  // Waits for the agent to open the tunnel.
  struct Pending {
    std::shared_ptr<AgentConnection> connection;
    Reply reply;
    base::TimerId timer;
  };

  boost::asio::awaitable<void> DialDirectly(AgentRoute route, bool same_machine, int port,
                                            Reply reply);
  void OpenTunnel(const AgentRoute& route, int port, Reply reply);
  // The caller must reply to what it takes. Returns nullopt if there is none with this ID.
  std::optional<Pending> Take(const std::string& id);
  std::optional<Pending> TakeFor(const std::string& id, const std::string& incarnation);
  // Fails the pending tunnels of the connection; nullptr: of all.
  void FailPending(const AgentConnection* connection, const absl::Status& why);
  // Returns false after Stop.
  bool Add(Tunnel* tunnel);
  void Remove(Tunnel* tunnel);

  const TunnelOptions options_;
  base::EventLoop* const loop_;
  std::mutex mutex_;
  bool stopped_ = false;
  std::map<std::string, Pending> pending_;  // by ID
  std::set<Tunnel*> tunnels_;
  base::IoThread io_{"tunnels"};
};

}  // namespace det::agents

#endif  // MASTER_AGENTS_TASK_TUNNELS_H_
