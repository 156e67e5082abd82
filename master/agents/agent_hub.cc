#include "master/agents/agent_hub.h"

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "det/agent/v1/agent.grpc.pb.h"
#include "master/agents/messages.h"
#include <grpcpp/grpcpp.h>

namespace det::agents {
namespace {

namespace wire = det::agent::v1;

constexpr size_t kChunk = size_t{1} << 20;

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

std::string AuthorizationOf(const grpc::CallbackServerContext& context) {
  const auto it = context.client_metadata().find("authorization");
  return it == context.client_metadata().end() ? ""
                                               : std::string(it->second.data(), it->second.size());
}

// The bytes of a context in chunks, one on its way at a time.
class ContextStream final : public grpc::ServerWriteReactor<wire::GetContextResponse> {
 public:
  // Once; nothing before it.
  void Send(absl::StatusOr<std::string> content) {
    if (!content.ok()) return Finish(ToGrpc(content.status()));
    content_ = *std::move(content);
    SendChunk();
  }
  void OnWriteDone(bool ok) override {
    if (ok) {
      SendChunk();
    } else {
      Finish(grpc::Status::CANCELLED);
    }
  }
  void OnDone() override { delete this; }

 private:
  void SendChunk() {
    if (sent_ == content_.size()) return Finish(grpc::Status::OK);
    message_.set_chunk(content_.substr(sent_, kChunk));
    sent_ += message_.chunk().size();
    StartWrite(&message_);
  }

  std::string content_;
  size_t sent_ = 0;
  wire::GetContextResponse message_;
};

}  // namespace

// Held by the hub and by every stream, which may outlive it.
class AgentHub::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(HubOptions options, HubDeps deps)
      : options_(std::move(options)), deps_(std::move(deps)), service_(this) {}

  void SetEngine(engine::Engine* engine) { engine_ = engine; }
  grpc::Service* service() { return &service_; }
  void ExpectAgents();
  void Stop();
  void Order(const model::AgentId& agent, const wire::MasterMessage& message);
  std::string TokenFor(const model::AllocationId& allocation) const {
    return deps_.authenticator->allocation_tokens().Make(allocation);
  }

 private:
  // One agent's stream. Orders wait until Open(), so that Registered is the first message down.
  class Connection final : public grpc::ServerBidiReactor<wire::AgentMessage, wire::MasterMessage>,
                           public std::enable_shared_from_this<Connection> {
   public:
    explicit Connection(std::shared_ptr<Impl> hub) : hub_(std::move(hub)) {}

    // Keeps itself alive until gRPC is done with it.
    void Begin(const grpc::CallbackServerContext& context);
    void Open(wire::MasterMessage registered);
    void Send(wire::MasterMessage message);
    // Ends the stream after what was sent; later calls do nothing.
    void Close(const absl::Status& status);
    // Tells the agent to end.
    void Refuse(const absl::Status& reason);

    void OnReadDone(bool ok) override;
    void OnWriteDone(bool ok) override;
    void OnCancel() override { Close(absl::CancelledError("the agent has gone")); }
    void OnDone() override;

    // Set once by the first message, before anybody else can see the connection.
    model::AgentId agent;
    std::vector<model::Device> slots;

   private:
    void Hear(const wire::AgentMessage& message);
    void Report(const wire::TaskReport& report);
    // REQUIRES the lock.
    void MaybeWrite();

    const std::shared_ptr<Impl> hub_;
    wire::AgentMessage in_;
    std::mutex mutex_;
    std::shared_ptr<Connection> self_;
    std::deque<wire::MasterMessage> queue_;
    std::optional<absl::Status> closed_;
    bool open_ = false;
    bool writing_ = false;
    bool finished_ = false;
  };

  class Service final : public wire::AgentHub::CallbackService {
   public:
    explicit Service(Impl* hub) : hub_(hub) {}

    grpc::ServerBidiReactor<wire::AgentMessage, wire::MasterMessage>* Connect(
        grpc::CallbackServerContext* context) override {
      const auto connection = std::make_shared<Connection>(hub_->shared_from_this());
      connection->Begin(*context);
      return connection.get();
    }
    grpc::ServerUnaryReactor* PostLogs(grpc::CallbackServerContext* context,
                                       const wire::PostLogsRequest* request,
                                       wire::PostLogsResponse*) override;
    grpc::ServerWriteReactor<wire::GetContextResponse>* GetContext(
        grpc::CallbackServerContext* context, const wire::GetContextRequest* request) override;

   private:
    Impl* const hub_;
  };

  struct Entry {
    std::shared_ptr<Connection> connection;
    std::optional<base::TimerId> patience;
  };

  void Register(const std::shared_ptr<Connection>& connection, const wire::Register& message);
  // The registration is committed, or refused.
  void Welcome(Connection& connection, const absl::Status& applied) const;
  void Gone(const Connection* connection);
  void Lost(const model::AgentId& agent);
  // REQUIRES the lock.
  void StartPatience(const model::AgentId& agent, Entry& entry);

  const HubOptions options_;
  const HubDeps deps_;
  engine::Engine* engine_ = nullptr;
  Service service_;
  std::mutex mutex_;
  bool stopped_ = false;
  std::map<model::AgentId, Entry> agents_;
};

// ---- a stream ----

void AgentHub::Impl::Connection::Begin(const grpc::CallbackServerContext& context) {
  self_ = shared_from_this();
  hub_->deps_.pool->Post([self = self_, header = AuthorizationOf(context)] {
    const auto principal =
        self->hub_->deps_.authenticator->Admit("det.agent.v1.AgentHub.Connect", header);
    if (!principal.ok()) return self->Close(principal.status());
    self->StartRead(&self->in_);
  });
}

void AgentHub::Impl::Connection::Open(wire::MasterMessage registered) {
  std::lock_guard lock(mutex_);
  queue_.push_front(std::move(registered));
  open_ = true;
  MaybeWrite();
}

void AgentHub::Impl::Connection::Send(wire::MasterMessage message) {
  std::lock_guard lock(mutex_);
  if (closed_) return;
  queue_.push_back(std::move(message));
  MaybeWrite();
}

void AgentHub::Impl::Connection::Close(const absl::Status& status) {
  std::lock_guard lock(mutex_);
  if (closed_) return;
  closed_ = status;
  MaybeWrite();
}

void AgentHub::Impl::Connection::Refuse(const absl::Status& reason) {
  DET_LOG(WARNING) << "agent refused" << base::Field("agent", agent)
                   << base::Field("reason", reason.message());
  wire::MasterMessage message;
  message.mutable_shutdown()->set_reason(std::string(reason.message()));
  Open(std::move(message));
  Close(reason);
}

void AgentHub::Impl::Connection::MaybeWrite() {
  if (writing_ || finished_) return;
  if (open_ && !queue_.empty()) {
    writing_ = true;
    StartWrite(&queue_.front());
  } else if (closed_) {
    finished_ = true;
    Finish(ToGrpc(*closed_));
  }
}

void AgentHub::Impl::Connection::OnWriteDone(bool ok) {
  std::lock_guard lock(mutex_);
  writing_ = false;
  queue_.pop_front();
  if (!ok) {
    queue_.clear();
    if (!closed_) closed_ = absl::UnavailableError("the connection is broken");
  }
  MaybeWrite();
}

void AgentHub::Impl::Connection::OnReadDone(bool ok) {
  if (!ok) return Close(absl::OkStatus());  // the agent has said its last
  Hear(in_);
  StartRead(&in_);
}

void AgentHub::Impl::Connection::OnDone() {
  std::shared_ptr<Connection> self;
  {
    std::lock_guard lock(mutex_);
    self = std::move(self_);
  }
  hub_->Gone(this);
}

void AgentHub::Impl::Connection::Hear(const wire::AgentMessage& message) {
  switch (message.message_case()) {
    case wire::AgentMessage::kRegister:
      if (!agent.value().empty()) {
        return Close(absl::InvalidArgumentError("an agent registers once per stream"));
      }
      return hub_->Register(shared_from_this(), message.register_());
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

void AgentHub::Impl::Connection::Report(const wire::TaskReport& report) {
  std::optional<cluster::Event> event = ToEvent(report, agent);
  const auto acknowledge = [self = shared_from_this(), sequence = report.sequence()] {
    wire::MasterMessage message;
    message.mutable_ack()->set_sequence(sequence);
    self->Send(std::move(message));
  };
  if (!event) return acknowledge();
  hub_->engine_->Submit(*std::move(event), [self = shared_from_this(), acknowledge,
                                            report = report.ShortDebugString()](
                                               const absl::StatusOr<engine::Applied>& applied) {
    if (absl::IsUnavailable(applied.status())) {
      // Nothing was applied. The agent comes again with all that was not acknowledged; nothing
      // later may be acknowledged before that.
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

// ---- the hub ----

void AgentHub::Impl::Register(const std::shared_ptr<Connection>& connection,
                              const wire::Register& message) {
  absl::StatusOr<cluster::AgentRegistered> event = ToEvent(message, deps_.loop->Now());
  if (!event.ok()) return connection->Refuse(event.status());
  const model::AgentId id = event->agent.id;
  // Held while submitting, so that comings and goings reach the cluster in the order in which the
  // hub saw them.
  std::lock_guard lock(mutex_);
  if (stopped_) return connection->Close(absl::UnavailableError("the master is stopping"));
  Entry& entry = agents_[id];
  if (entry.connection != nullptr && entry.connection->slots != event->agent.slots) {
    return connection->Refuse(absl::AlreadyExistsError(
        absl::StrCat("agent id ", id.value(),
                     " is in use by an agent with other slots; choose another with --id")));
  }
  connection->agent = id;
  connection->slots = event->agent.slots;
  if (const auto replaced = std::exchange(entry.connection, connection); replaced != nullptr) {
    replaced->Close(absl::AbortedError(absl::StrCat("agent ", id.value(), " has connected again")));
  }
  if (entry.patience) deps_.loop->Cancel(*std::exchange(entry.patience, std::nullopt));
  DET_LOG(INFO) << "agent registered" << base::Field("agent", id)
                << base::Field("slots", event->agent.slots.size())
                << base::Field("running", event->running.size());
  engine_->Submit(*std::move(event), [self = shared_from_this(),
                                      connection](const absl::StatusOr<engine::Applied>& applied) {
    self->Welcome(*connection, applied.status());
  });
}

void AgentHub::Impl::Welcome(Connection& connection, const absl::Status& applied) const {
  if (absl::IsUnavailable(applied)) return connection.Close(applied);
  if (!applied.ok()) return connection.Refuse(applied);
  wire::MasterMessage message;
  message.mutable_registered()->set_cluster_id(options_.cluster_id);
  message.mutable_registered()->set_master_version(options_.version);
  // Half-open connections are found by gRPC's own pings.
  message.mutable_registered()->set_heartbeat_seconds(0);
  connection.Open(std::move(message));
}

void AgentHub::Impl::Gone(const Connection* connection) {
  if (connection->agent.value().empty()) return;
  std::lock_guard lock(mutex_);
  const auto it = agents_.find(connection->agent);
  if (stopped_ || it == agents_.end() || it->second.connection.get() != connection) return;
  it->second.connection = nullptr;
  DET_LOG(WARNING) << "agent disconnected" << base::Field("agent", connection->agent);
  engine_->Submit(cluster::AgentDisconnected{connection->agent});
  StartPatience(it->first, it->second);
}

void AgentHub::Impl::StartPatience(const model::AgentId& agent, Entry& entry) {
  entry.patience = deps_.loop->PostAfter(options_.patience, [weak = weak_from_this(), agent] {
    if (const auto self = weak.lock()) self->Lost(agent);
  });
}

void AgentHub::Impl::Lost(const model::AgentId& agent) {
  std::lock_guard lock(mutex_);
  const auto it = agents_.find(agent);
  if (stopped_ || it == agents_.end() || it->second.connection != nullptr) return;
  DET_LOG(WARNING) << "agent lost" << base::Field("agent", agent)
                   << base::Field("after", absl::FormatDuration(options_.patience));
  engine_->Submit(cluster::AgentLost{agent});
  agents_.erase(it);
}

void AgentHub::Impl::ExpectAgents() {
  auto expected = std::make_shared<std::set<model::AgentId>>();
  engine_->Query(
      [expected](const cluster::Cluster& cluster) {
        for (const experiment::Allocation* allocation : cluster.live_allocations()) {
          for (const experiment::Share& share : allocation->shares) {
            if (!share.exited) expected->insert(share.placement.agent);
          }
        }
      },
      [self = shared_from_this(), expected](const absl::Status&) {
        std::lock_guard lock(self->mutex_);
        for (const model::AgentId& agent : *expected) {
          Entry& entry = self->agents_[agent];
          if (entry.connection == nullptr && !entry.patience) self->StartPatience(agent, entry);
        }
      });
}

void AgentHub::Impl::Stop() {
  std::map<model::AgentId, Entry> agents;
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    agents = std::move(agents_);
    agents_.clear();
  }
  for (auto& [id, entry] : agents) {
    if (entry.patience) deps_.loop->Cancel(*entry.patience);
    if (entry.connection == nullptr) continue;
    entry.connection->Close(absl::UnavailableError("the master is stopping"));
  }
}

void AgentHub::Impl::Order(const model::AgentId& agent, const wire::MasterMessage& message) {
  std::shared_ptr<Connection> connection;
  {
    std::lock_guard lock(mutex_);
    const auto it = agents_.find(agent);
    if (it != agents_.end()) connection = it->second.connection;
  }
  if (connection != nullptr) connection->Send(message);
}

// ---- logs, contexts ----

grpc::ServerUnaryReactor* AgentHub::Impl::Service::PostLogs(grpc::CallbackServerContext* context,
                                                            const wire::PostLogsRequest* request,
                                                            wire::PostLogsResponse*) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  hub_->deps_.pool->Post(
      [hub = hub_->shared_from_this(), reactor, request, header = AuthorizationOf(*context)] {
        absl::Status status =
            hub->deps_.authenticator->Admit("det.agent.v1.AgentHub.PostLogs", header).status();
        if (status.ok()) status = hub->deps_.store->AddLogLines(ToLines(*request));
        if (status.ok() && hub->deps_.logs_arrived) {
          hub->deps_.logs_arrived(TaskOf(model::AllocationId(request->allocation_id())));
        }
        reactor->Finish(ToGrpc(status));
      });
  return reactor;
}

grpc::ServerWriteReactor<wire::GetContextResponse>* AgentHub::Impl::Service::GetContext(
    grpc::CallbackServerContext* context, const wire::GetContextRequest* request) {
  auto* const stream = new ContextStream;
  hub_->deps_.pool->Post([hub = hub_->shared_from_this(), stream, hash = request->hash(),
                          header = AuthorizationOf(*context)] {
    const absl::Status admitted =
        hub->deps_.authenticator->Admit("det.agent.v1.AgentHub.GetContext", header).status();
    stream->Send(admitted.ok() ? hub->deps_.store->GetContext(hash)
                               : absl::StatusOr<std::string>(admitted));
  });
  return stream;
}

// ---- the public face ----

AgentHub::AgentHub(HubOptions options, HubDeps deps)
    : impl_(std::make_shared<Impl>(std::move(options), std::move(deps))) {}
AgentHub::~AgentHub() { impl_->Stop(); }
void AgentHub::SetEngine(engine::Engine* engine) { impl_->SetEngine(engine); }
void AgentHub::ExpectAgents() { impl_->ExpectAgents(); }
grpc::Service* AgentHub::service() { return impl_->service(); }
void AgentHub::Stop() { impl_->Stop(); }

void AgentHub::Start(const cluster::StartTask& order) {
  impl_->Order(order.agent, ToMessage(order, impl_->TokenFor(order.spec.allocation)));
}
void AgentHub::Stop(const cluster::StopTask& order) { impl_->Order(order.agent, ToMessage(order)); }

}  // namespace det::agents
