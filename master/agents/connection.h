// One agent's stream, as the master's end of it. Messages go down in order, one on its way at a
// time; orders wait until Open(), so that Registered is the first.
//
// Made by agent_hub.cc for each call of Connect; gRPC's threads run the reactions, the rest may be
// called on any thread. Never decides who an agent is or what becomes of a report: its owner does.
#ifndef MASTER_AGENTS_CONNECTION_H_
#define MASTER_AGENTS_CONNECTION_H_

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "det/agent/v1/agent.pb.h"
#include "master/core/cluster/event.h"
#include "master/core/model/ids.h"
#include "master/engine/engine.h"
#include <grpcpp/grpcpp.h>

namespace det::agents {

class Connection;

// What a stream needs of the hub.
class ConnectionOwner {
 public:
  virtual ~ConnectionOwner() = default;

  // May the bearer of this Authorization header connect? `done` runs on a thread that may block.
  virtual void Admit(std::string authorization, absl::AnyInvocable<void(absl::Status)> done) = 0;
  // Answers with Open, Refuse or Close, sooner or later.
  virtual void Register(const std::shared_ptr<Connection>& connection,
                        const det::agent::v1::Register& message) = 0;
  virtual void Submit(cluster::Event report,
                      absl::AnyInvocable<void(absl::StatusOr<engine::Applied>)> reply) = 0;
  // The stream is over.
  virtual void Gone(const Connection* connection) = 0;
};

class Connection final
    : public grpc::ServerBidiReactor<det::agent::v1::AgentMessage, det::agent::v1::MasterMessage>,
      public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(std::shared_ptr<ConnectionOwner> owner) : owner_(std::move(owner)) {}

  // Keeps itself alive until gRPC is done with it.
  void Begin(const grpc::CallbackServerContext& context);
  void Open(det::agent::v1::MasterMessage registered);
  void Send(det::agent::v1::MasterMessage message);
  // Ends the stream after what was sent; later calls do nothing.
  void Close(const absl::Status& status);
  // Tells the agent to end.
  void Refuse(const absl::Status& reason);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { Close(absl::CancelledError("the agent has gone")); }
  void OnDone() override;

  // Set once by the owner at the first message, before anybody else can see the connection.
  model::AgentId agent;
  std::string incarnation;

 private:
  void Hear(const det::agent::v1::AgentMessage& message);
  void Report(const det::agent::v1::TaskReport& report);
  // REQUIRES the lock.
  void MaybeWrite();

  const std::shared_ptr<ConnectionOwner> owner_;
  det::agent::v1::AgentMessage in_;
  std::mutex mutex_;
  std::shared_ptr<Connection> self_;
  std::deque<det::agent::v1::MasterMessage> queue_;
  std::optional<absl::Status> closed_;
  bool open_ = false;
  bool writing_ = false;
  bool finished_ = false;
};

grpc::Status ToGrpc(const absl::Status& status);

// The Authorization header of a call, empty without one.
std::string AuthorizationOf(const grpc::CallbackServerContext& context);

}  // namespace det::agents

#endif  // MASTER_AGENTS_CONNECTION_H_
