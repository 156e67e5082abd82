// Connects the master to ports of tasks.
//
// Implemented by agents::AgentHub: directly where the master can reach the agent's machine, else
// through the agent's own connection, so that no port of the agent's machine must be open.
#ifndef MASTER_PROXY_TASK_DIALER_H_
#define MASTER_PROXY_TASK_DIALER_H_

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "base/fd.h"
#include "master/core/model/ids.h"

namespace det::proxy {

// Where a program listens.
enum class Interface {
  kLoopback,  // of the agent's machine: the services that resolute-runner starts
  kAny,       // perhaps also the interface of the agent's address
};

class TaskDialer {
 public:
  // Gets a connected, non-blocking stream socket: of a TCP connection, or one end of a socket pair
  // that is relayed. Both ends can be shut down separately.
  using Reply = absl::AnyInvocable<void(absl::StatusOr<base::Fd>)>;

  virtual ~TaskDialer() = default;

  // Connects to this port of the agent's machine, of the loopback interface unless it is configured
  // that agents' addresses are tried first and the program may listen there. UNAVAILABLE, with a
  // sentence for users, if the agent is not connected, does not answer in time, or nobody listens
  // on the port. Does not block; replies once, on any thread.
  virtual void Dial(const model::AgentId& agent, int port, Interface interface, Reply reply) = 0;
};

}  // namespace det::proxy

#endif  // MASTER_PROXY_TASK_DIALER_H_
