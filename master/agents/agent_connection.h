// The master's end of one agent's stream. Messages are sent in order, one at a time; commands wait
// until Open(), so that Registered is the first message.
//
// agent_hub.cc creates one for each call of Connect; gRPC's threads run the reactions, other
// methods may be called on any thread. Its owner decides who an agent is and what happens with a
// report.
#ifndef MASTER_AGENTS_AGENT_CONNECTION_H_
#define MASTER_AGENTS_AGENT_CONNECTION_H_

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "det/agent/v1/agent.pb.h"
#include "master/core/cluster/event.h"
#include "master/core/model/ids.h"
#include "master/engine/engine.h"
#include <grpcpp/grpcpp.h>

namespace det::agents {

class AgentConnection;

// What a stream needs from the hub.
class AgentConnectionOwner {
 public:
  virtual ~AgentConnectionOwner() = default;

  // Checks whether the bearer of this Authorization header may connect. `done` runs on a thread
  // that may block.
  virtual void Authorize(std::string authorization,
                         absl::AnyInvocable<void(absl::Status)> done) = 0;
  // Calls Open, Refuse or Close, now or later.
  virtual void Register(const std::shared_ptr<AgentConnection>& connection,
                        const det::agent::v1::Register& message) = 0;
  virtual void Submit(cluster::Event report,
                      absl::AnyInvocable<void(absl::StatusOr<engine::Applied>)> reply) = 0;
  // The stream has ended.
  virtual void OnDisconnected(const AgentConnection* connection) = 0;
};

class AgentConnection final
    : public grpc::ServerBidiReactor<det::agent::v1::AgentMessage, det::agent::v1::MasterMessage>,
      public std::enable_shared_from_this<AgentConnection> {
 public:
  explicit AgentConnection(std::shared_ptr<AgentConnectionOwner> owner)
      : owner_(std::move(owner)) {}

  // Keeps itself alive until OnDone.
  void Start(const grpc::CallbackServerContext& context);
  void Open(det::agent::v1::MasterMessage registered);
  void Send(det::agent::v1::MasterMessage message);
  // Ends the stream after the queued messages; later calls do nothing.
  void Close(const absl::Status& status);
  // Rejects the agent, which then exits.
  void Refuse(const absl::Status& reason);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { Close(absl::CancelledError("the agent disconnected")); }
  void OnDone() override;

  // Set once by the owner on the first message, before other threads can see the connection.
  model::AgentId agent;
  std::string incarnation;

 private:
  void HandleMessage(const det::agent::v1::AgentMessage& message);
  void Report(const det::agent::v1::TaskReport& report);
  // REQUIRES the lock.
  void MaybeWrite();

  const std::shared_ptr<AgentConnectionOwner> owner_;
  det::agent::v1::AgentMessage in_;
  std::mutex mutex_;
  std::shared_ptr<AgentConnection> self_;
  std::deque<det::agent::v1::MasterMessage> queue_;
  std::optional<absl::Status> closed_;
  bool open_ = false;
  bool writing_ = false;
  bool finished_ = false;
};

grpc::Status ToGrpc(const absl::Status& status);

// The Authorization header of a call; empty if there is none.
std::string GetAuthorization(const grpc::CallbackServerContext& context);

}  // namespace det::agents

#endif  // MASTER_AGENTS_AGENT_CONNECTION_H_
