#include "master/agents/agent_hub.h"

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "det/agent/v1/agent.grpc.pb.h"
#include "master/agents/agent_connection.h"
#include "master/agents/agent_version.h"
#include "master/agents/log_watch.h"
#include "master/agents/messages.h"
#include "master/agents/task_tunnels.h"
#include <grpcpp/grpcpp.h>

namespace det::agents {
namespace {

namespace wire = det::agent::v1;

constexpr size_t kChunk = size_t{1} << 20;

absl::Status NotLeadingError() {
  return absl::UnavailableError(
      "this master cannot reach its database and accepts no agents until it can");
}

// Sends a context directory in chunks, one at a time.
class ContextStream final : public grpc::ServerWriteReactor<wire::GetContextResponse> {
 public:
  // Called once, before anything else.
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

// Shared by the hub and its streams, which may outlive it.
class AgentHub::Impl final : public AgentConnectionOwner,
                             public std::enable_shared_from_this<Impl> {
 public:
  Impl(HubOptions options, HubDeps deps)
      : options_(std::move(options)),
        deps_(std::move(deps)),
        log_watch_(std::make_shared<LogWatch>(deps_.pool)),
        tunnels_(std::make_shared<TaskTunnels>(TunnelOptions{.machine_id = options_.machine_id,
                                                             .direct = options_.direct_proxy,
                                                             .timeout = options_.tunnel_timeout},
                                               deps_.loop)),
        service_(this) {}

  void SetEngine(engine::Engine* engine) {
    engine_ = engine;
    log_watch_->SetEngine(engine);
  }
  grpc::Service* service() { return &service_; }
  void ExpectAgents();
  void SetLeading(bool leading);
  void Stop();
  void Order(const model::AgentId& agent, const wire::MasterMessage& message);
  void Dial(const model::AgentId& agent, int port, proxy::Interface interface, Reply reply);
  const auth::AllocationTokens& tokens() const { return deps_.authenticator->allocation_tokens(); }

 private:
  class Service final : public wire::AgentHub::CallbackService {
   public:
    explicit Service(Impl* hub) : hub_(hub) {}

    grpc::ServerBidiReactor<wire::AgentMessage, wire::MasterMessage>* Connect(
        grpc::CallbackServerContext* context) override {
      const auto connection = std::make_shared<AgentConnection>(hub_->shared_from_this());
      connection->Start(*context);
      return connection.get();
    }
    grpc::ServerUnaryReactor* PostLogs(grpc::CallbackServerContext* context,
                                       const wire::PostLogsRequest* request,
                                       wire::PostLogsResponse*) override;
    grpc::ServerWriteReactor<wire::GetContextResponse>* GetContext(
        grpc::CallbackServerContext* context, const wire::GetContextRequest* request) override;
    TaskTunnels::Reactor* Tunnel(grpc::CallbackServerContext* context) override;

   private:
    Impl* const hub_;
  };

  struct Entry {
    std::shared_ptr<AgentConnection> connection;
    std::optional<base::TimerId> reconnect_timeout;
    // From the last registration.
    std::string machine_id;
    std::string address;
  };

  // AgentConnectionOwner:
  void Authorize(std::string authorization, absl::AnyInvocable<void(absl::Status)> done) override;
  void Register(const std::shared_ptr<AgentConnection>& connection,
                const wire::Register& message) override;
  void Submit(cluster::Event report,
              absl::AnyInvocable<void(absl::StatusOr<engine::Applied>)> reply) override {
    // Its log lines arrived before.
    if (const auto* exited = report.As<cluster::LocalTaskExited>()) {
      log_watch_->Forget(exited->allocation, exited->agent);
    }
    engine_->Submit(std::move(report), std::move(reply));
  }
  void OnDisconnected(const AgentConnection* connection) override;

  // Stores the lines and checks them; then calls `done`. On a thread of the pool.
  void TakeLogs(const wire::PostLogsRequest& request, LogWatch::Done done) const;
  // Called when the registration is committed or refused.
  void Welcome(AgentConnection& connection, const absl::Status& applied) const;
  void Lost(const model::AgentId& agent);
  // REQUIRES the lock.
  void StartReconnectTimer(const model::AgentId& agent, Entry& entry);

  const HubOptions options_;
  const HubDeps deps_;
  const std::shared_ptr<LogWatch> log_watch_;
  const std::shared_ptr<TaskTunnels> tunnels_;
  engine::Engine* engine_ = nullptr;
  Service service_;
  std::mutex mutex_;
  bool stopped_ = false;
  bool leading_ = true;
  std::map<model::AgentId, Entry> agents_;
};

// ---- the hub ----

void AgentHub::Impl::Authorize(std::string authorization,
                               absl::AnyInvocable<void(absl::Status)> done) {
  deps_.pool->Post([self = shared_from_this(), header = std::move(authorization),
                    done = std::move(done)]() mutable {
    done(self->deps_.authenticator->Authorize("det.agent.v1.AgentHub.Connect", header).status());
  });
}

void AgentHub::Impl::Register(const std::shared_ptr<AgentConnection>& connection,
                              const wire::Register& message) {
  if (absl::Status taken = CheckAgentVersion(options_.version, message.version()); !taken.ok()) {
    return connection->Refuse(taken);
  }
  absl::StatusOr<cluster::AgentRegistered> event = ToEvent(message, deps_.loop->Now());
  if (!event.ok()) return connection->Refuse(event.status());
  ApplyTopology(options_.topology, event->agent);
  const model::AgentId id = event->agent.id;
  // Held while submitting, so that connects and disconnects reach the cluster in order.
  std::lock_guard lock(mutex_);
  if (stopped_) return connection->Close(absl::UnavailableError("the master is stopping"));
  if (!leading_) return connection->Close(NotLeadingError());
  Entry& entry = agents_[id];
  if (entry.connection != nullptr && entry.connection->incarnation != message.incarnation()) {
    // The agent is not asked to exit: the connected one with the same id may be dying, and this one
    // its successor.
    DET_LOG(WARNING) << "agent refused: its id is in use" << base::Field("agent", id);
    return connection->Close(absl::AlreadyExistsError(
        absl::StrCat("agent id ", id.value(),
                     " is in use by another agent; stop that one or choose another with --id")));
  }
  connection->agent = id;
  connection->incarnation = message.incarnation();
  entry.machine_id = message.machine_id();
  entry.address = message.address();
  if (const auto replaced = std::exchange(entry.connection, connection); replaced != nullptr) {
    replaced->Close(absl::AbortedError(absl::StrCat("agent ", id.value(), " has reconnected")));
  }
  if (entry.reconnect_timeout)
    deps_.loop->Cancel(*std::exchange(entry.reconnect_timeout, std::nullopt));
  DET_LOG(INFO) << "agent registered" << base::Field("agent", id)
                << base::Field("slots", event->agent.slots.size())
                << base::Field("running", event->running.size());
  // Local tasks that the agent no longer has end without an exit status; the others are watched
  // again.
  log_watch_->Forget(id);
  engine_->Submit(*std::move(event), [self = shared_from_this(),
                                      connection](const absl::StatusOr<engine::Applied>& applied) {
    self->Welcome(*connection, applied.status());
  });
}

void AgentHub::Impl::Welcome(AgentConnection& connection, const absl::Status& applied) const {
  if (absl::IsUnavailable(applied)) return connection.Close(applied);
  if (!applied.ok()) return connection.Refuse(applied);
  wire::MasterMessage message;
  message.mutable_registered()->set_cluster_id(options_.cluster_id);
  message.mutable_registered()->set_master_version(options_.version);
  // gRPC's keepalive pings detect half-open connections.
  message.mutable_registered()->set_heartbeat_seconds(0);
  connection.Open(std::move(message));
}

void AgentHub::Impl::OnDisconnected(const AgentConnection* connection) {
  if (connection->agent.value().empty()) return;
  tunnels_->OnDisconnected(connection);
  std::lock_guard lock(mutex_);
  const auto it = agents_.find(connection->agent);
  if (stopped_ || it == agents_.end() || it->second.connection.get() != connection) return;
  it->second.connection = nullptr;
  DET_LOG(WARNING) << "agent disconnected" << base::Field("agent", connection->agent);
  engine_->Submit(cluster::AgentDisconnected{connection->agent});
  StartReconnectTimer(it->first, it->second);
}

void AgentHub::Impl::StartReconnectTimer(const model::AgentId& agent, Entry& entry) {
  entry.reconnect_timeout =
      deps_.loop->PostAfter(options_.reconnect_timeout, [weak = weak_from_this(), agent] {
        if (const auto self = weak.lock()) self->Lost(agent);
      });
}

void AgentHub::Impl::Lost(const model::AgentId& agent) {
  std::lock_guard lock(mutex_);
  const auto it = agents_.find(agent);
  if (stopped_ || it == agents_.end() || it->second.connection != nullptr) return;
  DET_LOG(WARNING) << "agent lost" << base::Field("agent", agent)
                   << base::Field("after", absl::FormatDuration(options_.reconnect_timeout));
  log_watch_->Forget(agent);
  engine_->Submit(cluster::AgentLost{agent});
  agents_.erase(it);
}

void AgentHub::Impl::ExpectAgents() {
  auto expected = std::make_shared<std::set<model::AgentId>>();
  engine_->Query(
      [expected](const cluster::Cluster& cluster) {
        for (const auto& [id, agent] : cluster.agents()) {
          if (!agent.connected) expected->insert(id);
        }
      },
      [self = shared_from_this(), expected](const absl::Status&) {
        std::lock_guard lock(self->mutex_);
        for (const model::AgentId& agent : *expected) {
          Entry& entry = self->agents_[agent];
          if (entry.connection == nullptr && !entry.reconnect_timeout)
            self->StartReconnectTimer(agent, entry);
        }
      });
}

void AgentHub::Impl::SetLeading(bool leading) {
  {
    std::lock_guard lock(mutex_);
    leading_ = leading;
    if (leading) return;
    // The streams' ends are handled like any disconnect.
    for (auto& [id, entry] : agents_) {
      if (entry.connection != nullptr) entry.connection->Close(NotLeadingError());
    }
  }
  tunnels_->CloseAll(NotLeadingError());
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
    if (entry.reconnect_timeout) deps_.loop->Cancel(*entry.reconnect_timeout);
    if (entry.connection == nullptr) continue;
    entry.connection->Close(absl::UnavailableError("the master is stopping"));
  }
  tunnels_->Stop();
}

void AgentHub::Impl::Order(const model::AgentId& agent, const wire::MasterMessage& message) {
  std::shared_ptr<AgentConnection> connection;
  {
    std::lock_guard lock(mutex_);
    const auto it = agents_.find(agent);
    if (it != agents_.end()) connection = it->second.connection;
  }
  if (connection != nullptr) connection->Send(message);
}

void AgentHub::Impl::Dial(const model::AgentId& agent, int port, proxy::Interface interface,
                          Reply reply) {
  AgentRoute route{.agent = agent};
  bool leading = false;
  {
    std::lock_guard lock(mutex_);
    leading = leading_;
    if (const auto it = agents_.find(agent); it != agents_.end()) {
      route.machine_id = it->second.machine_id;
      route.address = it->second.address;
      route.connection = it->second.connection;
    }
  }
  if (!leading) return reply(NotLeadingError());
  tunnels_->Dial(std::move(route), port, interface, std::move(reply));
}

// ---- logs, contexts, tunnels ----

grpc::ServerUnaryReactor* AgentHub::Impl::Service::PostLogs(grpc::CallbackServerContext* context,
                                                            const wire::PostLogsRequest* request,
                                                            wire::PostLogsResponse*) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  hub_->deps_.pool->Post([hub = hub_->shared_from_this(), reactor, request,
                          header = GetAuthorization(*context)] {
    const absl::Status admitted =
        hub->deps_.authenticator->Authorize("det.agent.v1.AgentHub.PostLogs", header).status();
    if (!admitted.ok()) return reactor->Finish(ToGrpc(admitted));
    hub->TakeLogs(*request, [reactor](absl::Status status) { reactor->Finish(ToGrpc(status)); });
  });
  return reactor;
}

void AgentHub::Impl::TakeLogs(const wire::PostLogsRequest& request, LogWatch::Done done) const {
  absl::StatusOr<std::vector<model::LogLine>> lines = ToLines(request);
  if (!lines.ok()) return done(lines.status());
  if (absl::Status stored = deps_.store->AddLogLines(*lines); !stored.ok()) {
    return done(std::move(stored));
  }
  if (deps_.on_logs_stored) {
    deps_.on_logs_stored(GetTaskId(model::AllocationId(request.allocation_id())));
  }
  if (deps_.check_logs) {
    if (absl::Status checked = deps_.check_logs(*lines); !checked.ok()) {
      return done(std::move(checked));
    }
  }
  log_watch_->Check(*std::move(lines), std::move(done));
}

grpc::ServerWriteReactor<wire::GetContextResponse>* AgentHub::Impl::Service::GetContext(
    grpc::CallbackServerContext* context, const wire::GetContextRequest* request) {
  auto* const stream = new ContextStream;
  hub_->deps_.pool->Post([hub = hub_->shared_from_this(), stream, hash = request->hash(),
                          header = GetAuthorization(*context)] {
    const absl::Status admitted =
        hub->deps_.authenticator->Authorize("det.agent.v1.AgentHub.GetContext", header).status();
    stream->Send(admitted.ok() ? hub->deps_.store->GetContext(hash)
                               : absl::StatusOr<std::string>(admitted));
  });
  return stream;
}

TaskTunnels::Reactor* AgentHub::Impl::Service::Tunnel(grpc::CallbackServerContext* context) {
  return hub_->tunnels_->Accept(context, [hub = hub_->shared_from_this(),
                                          header = GetAuthorization(*context)](auto done) {
    hub->deps_.pool->Post([hub, header, done = std::move(done)]() mutable {
      done(hub->deps_.authenticator->Authorize("det.agent.v1.AgentHub.Tunnel", header).status());
    });
  });
}

// ---- public methods ----

AgentHub::AgentHub(HubOptions options, HubDeps deps)
    : impl_(std::make_shared<Impl>(std::move(options), std::move(deps))) {}
AgentHub::~AgentHub() { impl_->Stop(); }
void AgentHub::SetEngine(engine::Engine* engine) { impl_->SetEngine(engine); }
void AgentHub::ExpectAgents() { impl_->ExpectAgents(); }
grpc::Service* AgentHub::service() { return impl_->service(); }
void AgentHub::SetLeading(bool leading) { impl_->SetLeading(leading); }
void AgentHub::Stop() { impl_->Stop(); }

void AgentHub::Start(const cluster::StartTask& order) {
  impl_->Order(order.agent, ToMessage(order, impl_->tokens()));
}
void AgentHub::Stop(const cluster::StopTask& order) { impl_->Order(order.agent, ToMessage(order)); }
void AgentHub::Dial(const model::AgentId& agent, int port, proxy::Interface interface,
                    Reply reply) {
  impl_->Dial(agent, port, interface, std::move(reply));
}

}  // namespace det::agents
