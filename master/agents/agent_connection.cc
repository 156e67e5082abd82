#include "master/agents/agent_connection.h"

#include <utility>

#include "base/log.h"
#include "master/agents/messages.h"

namespace det::agents {

namespace wire = det::agent::v1;

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

std::string GetAuthorization(const grpc::CallbackServerContext& context) {
  const auto it = context.client_metadata().find("authorization");
  return it == context.client_metadata().end() ? ""
                                               : std::string(it->second.data(), it->second.size());
}

void AgentConnection::Start(const grpc::CallbackServerContext& context) {
  self_ = shared_from_this();
  owner_->Authorize(GetAuthorization(context), [self = self_](const absl::Status& admitted) {
    if (!admitted.ok()) return self->Close(admitted);
    std::lock_guard lock(self->mutex_);
    // The stream may have ended by now, and then gRPC has released it.
    if (!self->finished_) self->StartRead(&self->in_);
  });
}

void AgentConnection::Open(wire::MasterMessage registered) {
  std::lock_guard lock(mutex_);
  queue_.push_front(std::move(registered));
  open_ = true;
  MaybeWrite();
}

void AgentConnection::Send(wire::MasterMessage message) {
  std::lock_guard lock(mutex_);
  if (closed_) return;
  queue_.push_back(std::move(message));
  MaybeWrite();
}

void AgentConnection::Close(const absl::Status& status) {
  std::lock_guard lock(mutex_);
  if (closed_) return;
  closed_ = status;
  MaybeWrite();
}

void AgentConnection::Refuse(const absl::Status& reason) {
  DET_LOG(WARNING) << "agent refused" << base::Field("agent", agent)
                   << base::Field("reason", reason.message());
  wire::MasterMessage message;
  message.mutable_shutdown()->set_reason(std::string(reason.message()));
  Open(std::move(message));
  Close(reason);
}

void AgentConnection::MaybeWrite() {
  if (writing_ || finished_) return;
  if (open_ && !queue_.empty()) {
    writing_ = true;
    StartWrite(&queue_.front());
  } else if (closed_) {
    finished_ = true;
    Finish(ToGrpc(*closed_));
  }
}

void AgentConnection::OnWriteDone(bool ok) {
  std::lock_guard lock(mutex_);
  writing_ = false;
  queue_.pop_front();
  if (!ok) {
    queue_.clear();
    if (!closed_) closed_ = absl::UnavailableError("the connection is broken");
  }
  MaybeWrite();
}

void AgentConnection::OnReadDone(bool ok) {
  if (!ok) return Close(absl::OkStatus());  // the agent has closed its side
  HandleMessage(in_);
  StartRead(&in_);
}

void AgentConnection::OnDone() {
  std::shared_ptr<AgentConnection> self;
  {
    std::lock_guard lock(mutex_);
    self = std::move(self_);
  }
  owner_->OnDisconnected(this);
}

void AgentConnection::HandleMessage(const wire::AgentMessage& message) {
  switch (message.message_case()) {
    case wire::AgentMessage::kRegister:
      if (!agent.value().empty()) {
        return Close(absl::InvalidArgumentError("an agent registers once per stream"));
      }
      return owner_->Register(shared_from_this(), message.register_());
    case wire::AgentMessage::kReport:
      if (agent.value().empty()) {
        return Close(absl::FailedPreconditionError("the first message must be Register"));
      }
      return Report(message.report());
    case wire::AgentMessage::kHeartbeat:
    case wire::AgentMessage::MESSAGE_NOT_SET:
      return;
  }
}

void AgentConnection::Report(const wire::TaskReport& report) {
  absl::StatusOr<std::optional<cluster::Event>> event = ToEvent(report, agent);
  if (!event.ok()) return Close(event.status());
  const auto acknowledge = [self = shared_from_this(), sequence = report.sequence()] {
    wire::MasterMessage message;
    message.mutable_ack()->set_sequence(sequence);
    self->Send(std::move(message));
  };
  if (!event->has_value()) return acknowledge();
  owner_->Submit(**std::move(event),
                 [self = shared_from_this(), acknowledge, report = report.ShortDebugString()](
                     const absl::StatusOr<engine::Applied>& applied) {
                   if (absl::IsUnavailable(applied.status())) {
                     // Nothing was applied. The agent reconnects and sends all unacknowledged
                     // reports again; no later report may be acknowledged before them.
                     return self->Close(applied.status());
                   }
                   if (!applied.ok()) {
                     DET_LOG(WARNING) << "report refused" << base::Field("agent", self->agent)
                                      << base::Field("report", report)
                                      << base::Field("reason", applied.status().message());
                   }
                   acknowledge();
                 });
}

}  // namespace det::agents
