#include "agent/link/master_link.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/link/calls.h"
#include "agent/link/control_stream.h"
#include "agent/link/messages.h"
#include "agent/link/tunnel.h"
#include "base/check.h"
#include "base/log.h"
#include "det/agent/v1/agent.grpc.pb.h"
#include <grpcpp/grpcpp.h>

namespace det::agent {
namespace {

constexpr absl::Duration kPostDeadline = absl::Seconds(30);

std::shared_ptr<grpc::Channel> MakeChannel(const MasterAddress& master, const TlsOptions& tls) {
  grpc::ChannelArguments arguments;
  // These pings detect a master that has disappeared silently. The reconnect intervals are short,
  // because this class controls the pace of attempts.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
  // A proxy from the environment is meant for external addresses, not for the cluster.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(64 << 20);
  if (!master.tls) {
    return grpc::CreateCustomChannel(master.Target(), grpc::InsecureChannelCredentials(),
                                     arguments);
  }
  if (!tls.master_name.empty()) arguments.SetSslTargetNameOverride(tls.master_name);
  const grpc::SslCredentialsOptions own = {tls.authority, tls.key, tls.certificate};
  return grpc::CreateCustomChannel(master.Target(), grpc::SslCredentials(own), arguments);
}

class GrpcMasterLink final : public MasterLink {
 public:
  GrpcMasterLink(const LinkOptions& options, base::EventLoop* loop, LinkListener* listener)
      : options_(options),
        loop_(loop),
        listener_(listener),
        completions_(loop),
        tls_(options.tls),
        stubs_(MakeStubs(options.masters, options.tls)),
        backoff_(options.seed) {}

  void Connect() override {
    DET_CHECK(loop_->IsOnLoopThread());
    ReloadCertificates();
    auto stream = std::make_shared<ControlStream>(
        calls_, [this](const v1::MasterMessage& message) { OnMessage(message); },
        [this](const absl::Status& why) { OnEnd(why); });
    if (!stream->context().open()) return;
    Authorize(*stream->context());
    v1::AgentMessage first;
    *first.mutable_register_() = ToProto(listener_->OnConnecting());
    incarnation_ = first.register_().incarnation();
    stream_ = std::move(stream);
    stream_->Start(*stub(), completions_.queue(), std::move(first));
  }

  void Send(const Report& report) override {
    if (stream_ == nullptr || !registered_) return;
    v1::AgentMessage message;
    *message.mutable_report() = ToProto(report);
    stream_->Write(std::move(message));
  }

  void PostLogs(const AllocationId& allocation,
                std::shared_ptr<const std::vector<OutputLine>> lines, Done done) override {
    struct Call {
      explicit Call(const std::shared_ptr<PendingCalls>& calls) : context(calls) {}
      CallContext context;
      v1::PostLogsResponse response;
      grpc::Status status;
      Done done;
      std::unique_ptr<grpc::ClientAsyncResponseReader<v1::PostLogsResponse>> reader;
    };
    auto call = std::make_shared<Call>(calls_);
    if (!call->context.open()) return;
    call->done = std::move(done);
    Authorize(*call->context);
    call->context->set_deadline(absl::ToChronoTime(absl::Now() + kPostDeadline));
    call->context->set_compression_algorithm(GRPC_COMPRESS_GZIP);
    call->reader = stub()->AsyncPostLogs(
        &*call->context, ToProto(options_.agent_id, allocation, *lines), completions_.queue());
    call->reader->Finish(&call->response, &call->status,
                         Completions::Tag([call](bool) { call->done(ToStatus(call->status)); }));
  }

  absl::Status ReadContext(const std::string& hash, std::stop_token stop, Sink sink) override {
    CallContext context(calls_);
    if (!context.open()) return absl::CancelledError("the link is closed");
    Authorize(*context);
    const std::stop_callback cancel(stop, [&] { context->TryCancel(); });
    v1::GetContextRequest request;
    request.set_hash(hash);
    const auto reader = stub()->GetContext(&*context, request);
    v1::GetContextResponse response;
    absl::Status sunk;
    while (sunk.ok() && reader->Read(&response)) sunk = sink(response.chunk());
    if (!sunk.ok()) context->TryCancel();
    const absl::Status status = ToStatus(reader->Finish());
    return sunk.ok() ? status : sunk;
  }

  void Close() override {
    calls_->Cancel();
    tunnels_.Close();
    completions_.Close();
  }

 private:
  using Stubs = std::vector<std::shared_ptr<v1::AgentHub::Stub>>;

  static Stubs MakeStubs(const std::vector<MasterAddress>& masters, const TlsOptions& tls) {
    Stubs stubs;
    for (const MasterAddress& master : masters) {
      stubs.push_back(v1::AgentHub::NewStub(MakeChannel(master, tls)));
    }
    return stubs;
  }

  // Returns the stub of the master with the control stream, which logs and contexts use too. Any
  // thread; a call keeps its channel alive.
  std::shared_ptr<v1::AgentHub::Stub> stub() {
    std::lock_guard lock(stubs_mutex_);
    return stubs_[current_];
  }

  // Existing connections keep their certificates.
  void ReloadCertificates() {
    std::optional<TlsOptions> renewed = ReloadTlsOptions(tls_);
    if (!renewed) return;
    tls_ = *std::move(renewed);
    Stubs stubs = MakeStubs(options_.masters, tls_);
    std::lock_guard lock(stubs_mutex_);
    stubs_ = std::move(stubs);
  }

  // Returns whether to try the next master. If a master rejects this agent, the others would too.
  static bool ShouldTryNextMaster(const absl::Status& why) {
    return !absl::IsAlreadyExists(why) && !absl::IsUnauthenticated(why) &&
           !absl::IsPermissionDenied(why);
  }

  void Authorize(grpc::ClientContext& context) const {
    if (!options_.token.empty()) context.AddMetadata("authorization", "Bearer " + options_.token);
  }

  void OnMessage(const v1::MasterMessage& message) {
    switch (message.message_case()) {
      case v1::MasterMessage::kRegistered:
        OnRegistered(message.registered());
        break;
      case v1::MasterMessage::kStart:
        listener_->OnOrder(StartTask{FromProto(message.start().task())});
        break;
      case v1::MasterMessage::kStop:
        listener_->OnOrder(FromProto(message.stop()));
        break;
      case v1::MasterMessage::kAck:
        listener_->OnOrder(AckReports{message.ack().sequence()});
        break;
      case v1::MasterMessage::kShutdown:
        listener_->OnShutdown(message.shutdown().reason());
        break;
      case v1::MasterMessage::kOpenTunnel:
        tunnels_.Open(
            stub(), [this](grpc::ClientContext& context) { Authorize(context); }, incarnation_,
            message.open_tunnel());
        break;
      case v1::MasterMessage::MESSAGE_NOT_SET:
        DET_LOG(WARNING) << "received a message of an unknown type from the master; is this agent "
                            "older than the master?";
        break;
    }
  }

  void OnRegistered(const v1::Registered& registered) {
    registered_ = true;
    backoff_.Reset();
    heartbeat_ = absl::Seconds(registered.heartbeat_seconds());
    ScheduleHeartbeat();
    listener_->OnRegistered(
        {registered.cluster_id(), registered.master_version(), options_.masters[current_]});
  }

  void OnEnd(const absl::Status& why) {
    stream_ = nullptr;
    registered_ = false;
    if (heartbeat_timer_.has_value()) loop_->Cancel(*heartbeat_timer_);
    heartbeat_timer_.reset();
    const std::string advice = GetTlsHint(why.message(), options_.masters[current_].tls);
    if (ShouldTryNextMaster(why)) current_ = (current_ + 1) % options_.masters.size();
    // All masters are tried before a pause.
    const bool pause = current_ == 0 || !ShouldTryNextMaster(why);
    loop_->PostAfter(pause ? backoff_.Next() : absl::ZeroDuration(), [this] { Connect(); });
    listener_->OnDisconnected(absl::Status(why.code(), absl::StrCat(why.message(), advice)));
  }

  void ScheduleHeartbeat() {
    if (heartbeat_ <= absl::ZeroDuration()) return;
    if (heartbeat_timer_.has_value()) loop_->Cancel(*heartbeat_timer_);
    heartbeat_timer_ = loop_->PostAfter(heartbeat_, [this] {
      heartbeat_timer_.reset();
      if (stream_ == nullptr) return;
      v1::AgentMessage message;
      message.mutable_heartbeat();
      stream_->Write(std::move(message));
      ScheduleHeartbeat();
    });
  }

  const LinkOptions options_;
  base::EventLoop* const loop_;
  LinkListener* const listener_;
  const std::shared_ptr<PendingCalls> calls_ = std::make_shared<PendingCalls>();
  Completions completions_;
  Tunnels tunnels_{calls_};
  TlsOptions tls_;  // used by stubs_; accessed on the loop
  std::mutex stubs_mutex_;
  Stubs stubs_;                      // one for each of options_.masters
  std::atomic<size_t> current_ = 0;  // index of the current master; changed on the loop
  // Accessed on the loop.
  Backoff backoff_;
  std::shared_ptr<ControlStream> stream_;
  bool registered_ = false;
  std::string incarnation_;
  absl::Duration heartbeat_;
  std::optional<base::TimerId> heartbeat_timer_;
};

}  // namespace

std::unique_ptr<MasterLink> MakeMasterLink(const LinkOptions& options, base::EventLoop* loop,
                                           LinkListener* listener) {
  return std::make_unique<GrpcMasterLink>(options, loop, listener);
}

}  // namespace det::agent
