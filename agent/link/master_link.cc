#include "agent/link/master_link.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "agent/link/messages.h"
#include "base/check.h"
#include "base/log.h"
#include "det/agent/v1/agent.grpc.pb.h"
#include <grpcpp/grpcpp.h>

namespace det::agent {
namespace {

constexpr absl::Duration kPostDeadline = absl::Seconds(30);

absl::Status ToStatus(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

std::shared_ptr<grpc::Channel> MakeChannel(const MasterAddress& master) {
  grpc::ChannelArguments arguments;
  // A master that is gone without a word is noticed by these pings; one that has come back is found
  // quickly, as the pace of the attempts is ours.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
  // A proxy of the environment is for the world outside, not for the cluster.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(64 << 20);
  return grpc::CreateCustomChannel(
      master.Target(), master.tls ? grpc::SslCredentials({}) : grpc::InsecureChannelCredentials(),
      arguments);
}

// The calls under way, so that Close can end them and wait.
class Calls {
 public:
  // False once closed: the call must not be made.
  bool Begin(grpc::ClientContext* context) {
    std::lock_guard lock(mutex_);
    if (closed_) return false;
    contexts_.insert(context);
    return true;
  }
  void End(grpc::ClientContext* context) {
    std::lock_guard lock(mutex_);
    contexts_.erase(context);
    if (contexts_.empty()) ended_.notify_all();
  }
  void Close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    for (grpc::ClientContext* context : contexts_) context->TryCancel();
    ended_.wait(lock, [&] { return contexts_.empty(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool closed_ = false;
  std::set<grpc::ClientContext*> contexts_;
};

// One control stream. Its callbacks run on gRPC's threads and only pass on; it owns itself until
// gRPC is done with it.
class ControlStream final : public grpc::ClientBidiReactor<v1::AgentMessage, v1::MasterMessage>,
                            public std::enable_shared_from_this<ControlStream> {
 public:
  using OnMessage = std::function<void(v1::MasterMessage)>;
  using OnEnd = std::function<void(absl::Status)>;

  ControlStream(Calls* calls, OnMessage on_message, OnEnd on_end)
      : calls_(calls), on_message_(std::move(on_message)), on_end_(std::move(on_end)) {}

  grpc::ClientContext* context() { return &context_; }

  void Start(v1::AgentHub::Stub& stub, v1::AgentMessage first) {
    self_ = shared_from_this();
    stub.async()->Connect(&context_, this);
    AddHold();  // Writes come from outside the callbacks, for as long as reading goes on.
    StartRead(&incoming_);
    Write(std::move(first));
    StartCall();
  }

  void Write(v1::AgentMessage message) {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    outgoing_.push_back(std::move(message));
    if (outgoing_.size() == 1) StartWrite(&outgoing_.front());
  }

  void OnWriteDone(bool ok) override {
    std::lock_guard lock(mutex_);
    if (!ok || ended_) {
      ended_ = true;  // The read fails too and ends the stream.
      return;
    }
    outgoing_.pop_front();
    if (!outgoing_.empty()) StartWrite(&outgoing_.front());
  }

  void OnReadDone(bool ok) override {
    if (ok) {
      on_message_(std::move(incoming_));
      incoming_.Clear();
      StartRead(&incoming_);
      return;
    }
    {
      std::lock_guard lock(mutex_);
      ended_ = true;
    }
    RemoveHold();
  }

  void OnDone(const grpc::Status& status) override {
    // A master that ends the stream in order has no more to say than one that breaks off.
    on_end_(status.ok() ? absl::UnavailableError("the master ended the stream") : ToStatus(status));
    const std::shared_ptr<ControlStream> until_the_end = std::move(self_);
    calls_->End(&context_);
  }

 private:
  Calls* const calls_;
  const OnMessage on_message_;
  const OnEnd on_end_;
  grpc::ClientContext context_;
  std::shared_ptr<ControlStream> self_;
  v1::MasterMessage incoming_;
  std::mutex mutex_;
  bool ended_ = false;                     // guarded by mutex_
  std::deque<v1::AgentMessage> outgoing_;  // guarded by mutex_; the first is being written
};

class GrpcMasterLink final : public MasterLink {
 public:
  GrpcMasterLink(const LinkOptions& options, base::EventLoop* loop, LinkListener* listener)
      : options_(options),
        loop_(loop),
        listener_(listener),
        stub_(v1::AgentHub::NewStub(MakeChannel(options.master))),
        backoff_(options.seed) {}

  void Connect() override {
    DET_CHECK(loop_->RunsHere());
    auto stream = std::make_shared<ControlStream>(
        &calls_,
        [this](v1::MasterMessage message) {
          loop_->Post([this, message = std::move(message)] { OnMessage(message); });
        },
        [this](absl::Status why) { loop_->Post([this, why] { OnEnd(why); }); });
    if (!calls_.Begin(stream->context())) return;
    Authorize(*stream->context());
    v1::AgentMessage first;
    *first.mutable_register_() = ToProto(listener_->OnConnecting());
    stream_ = std::move(stream);
    stream_->Start(*stub_, std::move(first));
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
      grpc::ClientContext context;
      v1::PostLogsRequest request;
      v1::PostLogsResponse response;
      Done done;
    };
    auto call = std::make_shared<Call>();
    call->done = std::move(done);
    if (!calls_.Begin(&call->context)) {
      loop_->Post([call] { call->done(absl::CancelledError("the link is closed")); });
      return;
    }
    Authorize(call->context);
    call->context.set_deadline(absl::ToChronoTime(absl::Now() + kPostDeadline));
    call->request = ToProto(options_.agent_id, allocation, *lines);
    stub_->async()->PostLogs(&call->context, &call->request, &call->response,
                             [this, call](const grpc::Status& status) {
                               loop_->Post([call, status] { call->done(ToStatus(status)); });
                               calls_.End(&call->context);
                             });
  }

  absl::Status ReadContext(const std::string& hash, std::stop_token stop, Sink sink) override {
    grpc::ClientContext context;
    if (!calls_.Begin(&context)) return absl::CancelledError("the link is closed");
    Authorize(context);
    const std::stop_callback cancel(stop, [&] { context.TryCancel(); });
    v1::GetContextRequest request;
    request.set_hash(hash);
    const auto reader = stub_->GetContext(&context, request);
    v1::GetContextResponse response;
    absl::Status sunk;
    while (sunk.ok() && reader->Read(&response)) sunk = sink(response.chunk());
    if (!sunk.ok()) context.TryCancel();
    const absl::Status status = ToStatus(reader->Finish());
    calls_.End(&context);
    return sunk.ok() ? status : sunk;
  }

  void Close() override {
    DET_CHECK(!loop_->RunsHere());
    calls_.Close();
  }

 private:
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
      case v1::MasterMessage::MESSAGE_NOT_SET:
        DET_LOG(WARNING) << "the master sent a message of a kind unknown to this agent";
        break;
    }
  }

  void OnRegistered(const v1::Registered& registered) {
    registered_ = true;
    backoff_.Reset();
    heartbeat_ = absl::Seconds(registered.heartbeat_seconds());
    ScheduleHeartbeat();
    listener_->OnRegistered({registered.cluster_id(), registered.master_version()});
  }

  void OnEnd(const absl::Status& why) {
    stream_ = nullptr;
    registered_ = false;
    if (heartbeat_timer_.has_value()) loop_->Cancel(*heartbeat_timer_);
    heartbeat_timer_.reset();
    loop_->PostAfter(backoff_.Next(), [this] { Connect(); });
    listener_->OnDisconnected(why);
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
  Calls calls_;
  const std::unique_ptr<v1::AgentHub::Stub> stub_;
  // On the loop.
  Backoff backoff_;
  std::shared_ptr<ControlStream> stream_;
  bool registered_ = false;
  absl::Duration heartbeat_;
  std::optional<base::TimerId> heartbeat_timer_;
};

}  // namespace

std::unique_ptr<MasterLink> MakeMasterLink(const LinkOptions& options, base::EventLoop* loop,
                                           LinkListener* listener) {
  return std::make_unique<GrpcMasterLink>(options, loop, listener);
}

}  // namespace det::agent
