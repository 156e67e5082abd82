// The agent's end of tunnels: connects to a port of the loopback interface when the master requests
// it, and relays the bytes over a separate call.
#ifndef AGENT_LINK_TUNNEL_H_
#define AGENT_LINK_TUNNEL_H_

#include <functional>
#include <memory>
#include <string>

#include "agent/link/calls.h"
#include "det/agent/v1/agent.grpc.pb.h"
#include <grpcpp/grpcpp.h>

namespace det::agent {

// Owned by MasterLink. Has two threads for all tunnels, from the first tunnel on, so that their
// bytes do not delay the agent's loop.
class Tunnels {
 public:
  explicit Tunnels(const std::shared_ptr<PendingCalls>& calls);
  ~Tunnels();  // REQUIRES Close(), if Open() was called

  // Connects to the port, and only then calls the master. `authorize` adds the token; called now.
  void Open(std::shared_ptr<v1::AgentHub::Stub> stub,
            const std::function<void(grpc::ClientContext&)>& authorize,
            const std::string& incarnation, const v1::OpenTunnel& order);

  // Breaks all tunnels, and waits until they have ended. REQUIRES that `calls` are cancelled and
  // that Open is not called any more.
  void Close();

 private:
  class Tunnel;
  struct Threads;
  const std::shared_ptr<PendingCalls> calls_;
  std::unique_ptr<Threads> threads_;
};

}  // namespace det::agent

#endif  // AGENT_LINK_TUNNEL_H_
