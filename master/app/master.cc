#include "master/app/master.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/event_loop.h"
#include "base/fd.h"
#include "base/installation.h"
#include "base/log.h"
#include "base/machine_id.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "master/agents/agent_hub.h"
#include "master/agents/certificate_required.h"
#include "master/api/audit/audit_trail.h"
#include "master/api/authz/authorizer.h"
#include "master/api/idempotency/idempotency_store.h"
#include "master/api/rpc/local_call.h"
#include "master/api/services.h"
#include "master/app/dashboard_files.h"
#include "master/app/data_dir.h"
#include "master/app/deliverer_options.h"
#include "master/app/grpc_server.h"
#include "master/app/lease.h"
#include "master/app/idle_watch.h"
#include "master/app/lost_trials.h"
#include "master/app/master_info.h"
#include "master/app/metrics.h"
#include "master/app/startup_text.h"
#include "master/app/update_streams.h"
#include "master/auth/authenticator.h"
#include "master/auth/bootstrap.h"
#include "master/auth/password_queue.h"
#include "master/auth/tokens.h"
#include "master/engine/engine.h"
#include "master/gateway/http_server.h"
#include "master/gateway/tls_keys.h"
#include "master/gc/gc_thread.h"
#include "master/proxy/activity.h"
#include "master/proxy/task_proxy.h"
#include "master/store/postgres/embedded_postgres.h"
#include "master/store/postgres/postgres_store.h"
#include "master/webhooks/deliverer.h"
#include "master/webhooks/trigger_watch.h"
#include "proto/api_descriptors.h"
#include <google/protobuf/descriptor.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>

namespace det::app {
namespace {

// The pool has one thread per core for requests, and spare threads for requests that wait for
// something else (a bucket, a slow search).
constexpr int kMaxReaders = 16;
constexpr int kSpareReaders = 8;

}  // namespace

// Members are in the order of construction, and destroyed in reverse.
class Master::Impl {
 public:
  ~Impl() { Stop(); }

  absl::Status Start(const Config& config, absl::AnyInvocable<void(absl::Status)> fatal,
                     WaitForStop wait_for_stop);
  int port() const { return gateway_->port(); }
  const std::string& url() const { return url_; }

 private:
  absl::Status StandBy(const Config& config, WaitForStop& wait_for_stop);
  absl::Status OpenStore(const Config& config);
  absl::Status StartEngine(const Config& config);
  absl::Status StartDeliverer(const Config& config);
  absl::Status StartServer(const Config& config);
  absl::Status StartGateway(const Config& config);
  // Calls a unary method for the gateway.
  std::function<void()> CallLocally(gateway::LocalCall call,
                                    absl::AnyInvocable<void(absl::Status)> reply);
  void Authorize(const std::string& method, const std::string& authorization,
                 absl::AnyInvocable<void(absl::StatusOr<gateway::AuthorizedCaller>)> reply);
  // Audits a user's call that the gateway refused before a service could audit it.
  void RecordRefusal(const auth::Requirement& method, const api::Authorization& refusal);
  // Called when this master cannot continue. Any thread that may block.
  void Fail(const absl::Status& status);
  void Stop();

  absl::AnyInvocable<void(absl::Status)> fatal_;
  std::atomic<bool> failed_ = false;
  std::optional<DataDir> data_dir_;
  std::shared_ptr<gateway::TlsKeys> tls_;
  std::shared_ptr<const gateway::StaticFiles> pages_;
  base::Fd port_;  // until the gateway has it
  std::unique_ptr<store::EmbeddedPostgres> postgres_;
  std::unique_ptr<store::Store> store_;
  base::RealClock clock_;
  std::unique_ptr<auth::Authenticator> authenticator_;
  std::unique_ptr<api::WorkspaceResolver> workspace_resolver_;
  std::unique_ptr<api::Authorizer> authorizer_;
  std::unique_ptr<api::IdempotencyStore> answers_;
  std::unique_ptr<base::EventLoop> loop_;
  std::unique_ptr<base::ThreadPool> pool_;
  std::unique_ptr<auth::PasswordQueue> passwords_;
  api::ServiceParts parts_;
  std::unique_ptr<api::CallPipeline> calls_;
  live::ExperimentWatch experiment_watch_;
  api::AllGather all_gather_;
  live::LifeSigns life_signs_;
  proxy::Activity task_activity_{&clock_};
  live::AllocationWatch allocation_watch_{
      [this](const model::AllocationId& id) { all_gather_.Close(id); }};
  std::unique_ptr<agents::AgentHub> hub_;
  gc::GcThread gc_;
  webhooks::Deliverer deliverer_;
  std::unique_ptr<webhooks::TriggerWatch> triggers_;
  Metrics metrics_;  // before the engine, whose queries render it
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<LostTrials> lost_trials_;
  std::unique_ptr<IdleWatch> idle_watch_;
  std::unique_ptr<LeaseKeeper> lease_;
  std::unique_ptr<api::AuditTrail> audit_;
  std::vector<std::unique_ptr<api::Service>> services_;
  std::unique_ptr<api::LocalCalls> local_calls_;
  std::unique_ptr<grpc::Service> certificate_required_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<grpc::Server> agents_server_;  // for agents with certificates; may be null
  std::unique_ptr<UpdateStreams> updates_;       // null without the feature switch
  std::unique_ptr<proxy::TaskProxy> proxy_;
  std::unique_ptr<gateway::HttpServer> gateway_;
  std::string url_;
};

absl::Status Master::Impl::Start(const Config& config, absl::AnyInvocable<void(absl::Status)> fatal,
                                 WaitForStop wait_for_stop) {
  fatal_ = std::move(fatal);
  DET_ASSIGN_OR_RETURN(DataDir data_dir, DataDir::Open(config.data_dir));
  data_dir_.emplace(std::move(data_dir));
  // Bind before replacing another master: a master that cannot listen must not take over.
  if (!config.tls_cert.empty()) {
    DET_ASSIGN_OR_RETURN(
        tls_, gateway::TlsKeys::Load({config.tls_cert, config.tls_key, config.tls_client_ca}));
  }
  DET_ASSIGN_OR_RETURN(pages_, ReadPages(config.webui));
  DET_ASSIGN_OR_RETURN(port_, gateway::BindPort({.bind = config.bind, .port = config.port}));
  if (config.standby) DET_RETURN_IF_ERROR(StandBy(config, wait_for_stop));
  DET_RETURN_IF_ERROR(OpenStore(config));
  DET_RETURN_IF_ERROR(FillMasterInfo(config, *store_, data_dir_->path(), clock_.Now(), &parts_));
  DET_RETURN_IF_ERROR(StartEngine(config));
  DET_RETURN_IF_ERROR(StartDeliverer(config));
  DET_RETURN_IF_ERROR(StartServer(config));
  DET_RETURN_IF_ERROR(StartGateway(config));
  if (lease_ != nullptr) lease_->Announce(MakeUrl(config, port(), /*from_elsewhere=*/true));
  hub_->ExpectAgents();
  return data_dir_->Announce(gateway_->port(), url_);
}

absl::Status Master::Impl::StandBy(const Config& config, WaitForStop& wait_for_stop) {
  if (config.checkpoint_storage.type == "shared_fs" &&
      config.checkpoint_storage.host_path.empty()) {
    DET_LOG(WARNING) << "checkpoints without configured storage are stored in this master's data "
                        "directory, which other masters cannot access; give all masters the same "
                        "--checkpoint-dir";
  }
  const std::unique_ptr<store::Store> store = store::OpenPostgresAsStandby(config.db_url);
  return AwaitLead(*store, config.lease, wait_for_stop);
}

absl::Status Master::Impl::OpenStore(const Config& config) {
  std::string connection = config.db_url;
  if (connection.empty()) {
    DET_ASSIGN_OR_RETURN(postgres_,
                         store::EmbeddedPostgres::Start({.data_dir = data_dir_->path()}));
    connection = postgres_->connection_string();
  }
  absl::StatusOr<std::unique_ptr<store::Store>> opened = store::OpenPostgresStore(connection);
  if (absl::IsUnavailable(opened.status()) && !config.db_url.empty()) {
    return absl::UnavailableError(
        absl::StrCat(opened.status().message(), "; start that server, or correct --db-url"));
  }
  DET_ASSIGN_OR_RETURN(store_, std::move(opened));
  store_->OnFenced([this](const absl::Status& status) { Fail(status); });
  return auth::EnsureUsersAndTokens(*store_, data_dir_->path(),
                                    {.admin = config.admin_password,
                                     .user = config.user_password,
                                     .make = config.generate_passwords,
                                     .allow_blank = config.allow_blank_passwords},
                                    clock_.Now());
}

absl::Status Master::Impl::StartEngine(const Config& config) {
  DET_ASSIGN_OR_RETURN(const std::string secret,
                       store_->GetOrSetProperty("task_secret", auth::NewToken()));
  authenticator_ = std::make_unique<auth::Authenticator>(
      store_.get(), &clock_, auth::AllocationTokens(secret),
      config.authz.type == "basic" ? auth::AuthzType::kBasic : auth::AuthzType::kRbac);
  workspace_resolver_ = api::MakeWorkspaceResolver(store_.get());
  authorizer_ = std::make_unique<api::Authorizer>(
      authenticator_.get(), workspace_resolver_.get(), &clock_,
      auth::RateLimits{.requests_per_second = static_cast<double>(config.requests_per_second),
                       .streams_per_user = config.streams_per_user});
  answers_ = std::make_unique<api::IdempotencyStore>(&store_->stored_responses(), &clock_);
  audit_ = std::make_unique<api::AuditTrail>(
      &store_->audit(), [this](int64_t records) { metrics_.CountLostAudit(records); });
  loop_ = base::MakeAsioEventLoop("cluster");
  pool_ = std::make_unique<base::ThreadPool>(
      std::clamp<int>(std::thread::hardware_concurrency(), 2, kMaxReaders), kSpareReaders);
  passwords_ = std::make_unique<auth::PasswordQueue>(loop_.get());
  triggers_ = std::make_unique<webhooks::TriggerWatch>(store_.get(), &clock_,
                                                       [this] { deliverer_.Wake(); });
  hub_ = std::make_unique<agents::AgentHub>(
      agents::HubOptions{.cluster_id = parts_.info.cluster_id,
                         .version = base::kVersion,
                         .reconnect_timeout = config.agent_reconnect_timeout,
                         .topology = config.topology,
                         .machine_id = base::GetMachineId(),
                         .direct_proxy = config.direct_proxy},
      agents::HubDeps{
          .store = store_.get(),
          .authenticator = authenticator_.get(),
          .pool = pool_.get(),
          .loop = loop_.get(),
          .on_logs_stored =
              [this](const model::TaskId& task) { experiment_watch_.LogsArrived(task); },
          .check_logs = [this](const auto& lines) { return triggers_->Check(lines); }});
  experiment_watch_.SetLoop(loop_.get());
  engine_ = std::make_unique<engine::Engine>(
      cluster::Settings{.cluster_id = parts_.info.cluster_id,
                        .pools = config.resource_pools,
                        .quotas = config.quotas,
                        .default_compute_pool = config.default_compute_pool,
                        .default_aux_pool = config.default_aux_pool,
                        .launch_error = config.launch_error},
      store_.get(), loop_.get(),
      engine::Sinks{.agents = hub_.get(),
                    .trials = &allocation_watch_,
                    .experiments = &experiment_watch_,
                    .gc = &gc_,
                    .webhooks = &deliverer_},
      [this](const absl::Status& status) { Fail(status); });
  hub_->SetEngine(engine_.get());
  parts_.engine = engine_.get();
  parts_.store = store_.get();
  parts_.authenticator = authenticator_.get();
  parts_.authorizer = authorizer_.get();
  parts_.passwords = passwords_.get();
  parts_.allow_blank_passwords = config.allow_blank_passwords;
  parts_.pool = pool_.get();
  parts_.loop = loop_.get();
  parts_.clock = &clock_;
  parts_.watch = &experiment_watch_;
  parts_.triggers = triggers_.get();
  parts_.deliverer = &deliverer_;
  const bool shared = !config.db_url.empty();
  if (shared) DET_RETURN_IF_ERROR(store_->ClaimLease(std::nullopt).status());
  DET_RETURN_IF_ERROR(engine_->Start());
  gc_.Start(store_.get(), engine_.get(), parts_.info.cluster_id,
            {.log_days = config.log_days, .audit_days = config.audit_days},
            parts_.defaults.checkpoint_locations.buckets);
  lost_trials_ = std::make_unique<LostTrials>(LostTrials::Parts{.store = store_.get(),
                                                                .signs = &life_signs_,
                                                                .experiments = &experiment_watch_,
                                                                .webhooks = &deliverer_,
                                                                .loop = loop_.get(),
                                                                .pool = pool_.get()});
  lost_trials_->Start();
  idle_watch_ = std::make_unique<IdleWatch>(IdleWatch::Parts{
      .engine = engine_.get(), .loop = loop_.get(), .activity = &task_activity_});
  idle_watch_->Start();
  if (!shared) return absl::OkStatus();
  lease_ = std::make_unique<LeaseKeeper>(store_.get(), config.lease,
                                         [this](bool leads) { hub_->SetLeading(leads); });
  engine_->SetLeadershipCheck([lease = lease_.get()] { return lease->Leads(); });
  return absl::OkStatus();
}

absl::Status Master::Impl::StartDeliverer(const Config& config) {
  DET_ASSIGN_OR_RETURN(webhooks::DelivererOptions options,
                       ReadDelivererOptions(config, *store_, data_dir_->path()));
  deliverer_.Start(std::move(options), &store_->webhooks(), &clock_,
                   [this] { return lease_ == nullptr || lease_->Leads(); });
  return absl::OkStatus();
}

absl::Status Master::Impl::StartServer(const Config& config) {
  calls_ = std::make_unique<api::CallPipeline>(api::CallPipeline::Parts{
      .authorizer = authorizer_.get(),
      .idempotency = answers_.get(),
      .audit = audit_.get(),
      .pool = pool_.get(),
      .clock = &clock_,
      .on_call = [this](absl::StatusCode code) { metrics_.CountCall(code); }});
  parts_.calls = calls_.get();
  parts_.allocations = &allocation_watch_;
  parts_.life_signs = &life_signs_;
  parts_.task_activity = &task_activity_;
  parts_.all_gather = &all_gather_;
  services_ = api::MakeServices(parts_);
  local_calls_ = std::make_unique<api::LocalCalls>(services_);
  std::vector<grpc::Service*> all;
  for (const auto& each : services_) all.push_back(each->grpc_service());
  if (config.tls_client_ca.empty()) {
    all.push_back(hub_->service());
  } else {
    certificate_required_ = agents::MakeCertificateRequiredService();
    all.push_back(certificate_required_.get());
    DET_ASSIGN_OR_RETURN(agents_server_, StartGrpc({hub_->service()}, config.max_body_mib));
  }
  DET_ASSIGN_OR_RETURN(server_, StartGrpc(all, config.max_body_mib));
  return absl::OkStatus();
}

absl::Status Master::Impl::StartGateway(const Config& config) {
  std::vector<const google::protobuf::ServiceDescriptor*> services;
  gateway::ApiSource api{
      .descriptors = proto::ApiDescriptors(),
      .version = base::kVersion,
      .open = [](std::string_view method) { return auth::GetRequirement(method).is_public; }};
  for (const auto& each : services_) {
    api.services.push_back(each->name());
    services.push_back(
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(each->name()));
  }
  gateway::HttpHooks hooks;
  hooks.authorize = [this](const std::string& method, const std::string& authorization,
                           auto reply) { Authorize(method, authorization, std::move(reply)); };
  hooks.call = [this](gateway::LocalCall call, auto reply) {
    return CallLocally(std::move(call), std::move(reply));
  };
  hooks.metrics = [this](absl::AnyInvocable<void(std::string)> reply) {
    metrics_.Render(*engine_, std::move(reply));
  };
  proxy_ = std::make_unique<proxy::TaskProxy>(
      proxy::TaskProxy::Parts{.engine = engine_.get(),
                              .store = store_.get(),
                              .authenticator = authenticator_.get(),
                              .pool = pool_.get(),
                              .dialer = hub_.get(),
                              .activity = &task_activity_,
                              .clock = &clock_});
  hooks.open_service = [this](const std::string& service, gateway::ServiceCredentials credentials,
                              auto reply) {
    proxy_->Open(service, std::move(credentials), std::move(reply));
  };
  hooks.on_response = [this](int status) { metrics_.CountResponse(status); };
  const std::vector<std::string>& switches = config.feature_switches;
  if (std::find(switches.begin(), switches.end(), "streaming_updates") != switches.end()) {
    updates_ =
        std::make_unique<UpdateStreams>(UpdateStreams::Parts{.records = &store_->streamed_records(),
                                                             .authenticator = authenticator_.get(),
                                                             .authorizer = authorizer_.get(),
                                                             .pool = pool_.get()});
    hooks.open_updates = [this](const std::string& authorization, std::function<void()> wake,
                                auto reply) {
      updates_->Open(authorization, std::move(wake), std::move(reply));
    };
  }
  DET_ASSIGN_OR_RETURN(
      gateway_,
      gateway::HttpServer::Start({.bind = config.bind,
                                  .port = config.port,
                                  .socket = port_.Release(),
                                  .body_limit = static_cast<uint64_t>(config.max_body_mib) << 20,
                                  .about = MakeAboutText(tls_ != nullptr),
                                  .allow_origins = config.allow_origins,
                                  .tls = tls_,
                                  .agents = agents_server_.get(),
                                  .pages = pages_,
                                  .long_polls = {api::kLongPolls.begin(), api::kLongPolls.end()},
                                  .session = {.begin = "det.api.v1.AuthService.Login",
                                              .end = "det.api.v1.AuthService.Logout",
                                              .lifetime = auth::kSessionLifetime},
                                  .api = std::move(api)},
                                 std::move(hooks), server_.get(), services));
  url_ = MakeUrl(config, gateway_->port());
  return absl::OkStatus();
}

void Master::Impl::Authorize(
    const std::string& method, const std::string& authorization,
    absl::AnyInvocable<void(absl::StatusOr<gateway::AuthorizedCaller>)> reply) {
  pool_->Post([this, method, authorization, reply = std::move(reply)]() mutable {
    const auth::Requirement requirement = auth::GetRequirement(method);
    api::Authorizer::HeaderAuthorization decision =
        authorizer_->AuthorizeHeader(requirement, authorization);
    if (!decision.status.ok()) {
      metrics_.CountCall(decision.status.code());
      RecordRefusal(requirement, decision);
      return reply(decision.status);
    }
    const bool identified = decision.caller.kind != auth::PrincipalKind::kNobody;
    reply(gateway::AuthorizedCaller{.identified = identified, .ticket = decision.ticket});
  });
}

std::function<void()> Master::Impl::CallLocally(gateway::LocalCall call,
                                                absl::AnyInvocable<void(absl::Status)> reply) {
  api::CallHead head;
  for (auto& [key, value] : call.metadata) {
    if (key == "authorization") head.credentials.authorization = std::move(value);
    if (key == "x-authorization-ticket") head.credentials.ticket = std::move(value);
    if (key == "x-request-id") head.request_id = std::move(value);
    if (key == "idempotency-key") head.idempotency_key = std::move(value);
    if (key == "x-peer") head.peer = std::move(value);
  }
  return local_calls_->Start(call.method, std::move(call.request), std::move(call.response),
                             std::move(call.written), std::move(head), std::move(reply));
}

void Master::Impl::RecordRefusal(const auth::Requirement& method,
                                 const api::Authorization& refusal) {
  const auth::Principal& caller = refusal.caller;
  if (!method.is_audited() || caller.kind != auth::PrincipalKind::kUser) return;
  // Calls over the rate limit are too many to be worth a record each.
  if (absl::IsResourceExhausted(refusal.status)) return;
  store::AuditRecord record;
  record.at = clock_.Now();
  record.user = caller.user;
  record.caller = caller.name;
  record.access_token = caller.access_token;
  record.method = method.method;
  record.code = absl::StatusCodeToString(refusal.status.code());
  audit_->Append(std::move(record));
}

void Master::Impl::Fail(const absl::Status& status) {
  if (failed_.exchange(true)) return;
  if (!absl::IsAborted(status)) return fatal_(status);
  const absl::StatusOr<store::LeaseRecord> lease = store_->ReadLease();
  const bool known = lease.ok() && !lease->leader.empty();
  fatal_(absl::AbortedError(absl::StrCat("another master has taken over this database",
                                         known ? " and leads at " : "", known ? lease->leader : "",
                                         "; this master exits")));
}

void Master::Impl::Stop() {
  if (gateway_ != nullptr) gateway_->StopAccepting();
  if (hub_ != nullptr) hub_->Stop();
  allocation_watch_.Stop();
  // Calls that wait for a commit get a response even while the database is unavailable; the servers
  // wait for these calls.
  if (engine_ != nullptr) engine_->Stop();
  for (grpc::Server* server : {server_.get(), agents_server_.get()}) {
    if (server == nullptr) continue;
    server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(500));
  }
  if (gateway_ != nullptr) gateway_->Stop();
  deliverer_.Stop();
  gc_.Stop();
  if (pool_ != nullptr) pool_->Stop();
  if (passwords_ != nullptr) passwords_->Stop();
  if (audit_ != nullptr) audit_->Stop();
  if (loop_ != nullptr) loop_->Stop();
  lease_.reset();  // used until here
  updates_.reset();
  // Reports that still wait for the database end here, because their callbacks use what is destroyed
  // next.
  failed_ = true;
  store_.reset();
}

absl::StatusOr<std::unique_ptr<Master>> Master::Start(const Config& config,
                                                      absl::AnyInvocable<void(absl::Status)> fatal,
                                                      WaitForStop wait_for_stop) {
  auto impl = std::make_unique<Impl>();
  DET_RETURN_IF_ERROR(impl->Start(config, std::move(fatal), std::move(wait_for_stop)));
  return std::unique_ptr<Master>(new Master(std::move(impl)));
}

Master::Master(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Master::~Master() = default;
int Master::port() const { return impl_->port(); }
const std::string& Master::url() const { return impl_->url(); }

}  // namespace det::app
