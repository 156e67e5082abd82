#include "trial_api/cpp/core/trial_client.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "det/trial/v1/trial.grpc.pb.h"
#include "trial_api/cpp/core/error.h"
#include <grpcpp/grpcpp.h>

namespace det::core {
namespace {

namespace pb = ::det::trial::v1;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kFirstPause(100);
constexpr milliseconds kMaxPause(5'000);
constexpr milliseconds kCallTimeout(60'000);
constexpr milliseconds kLastCallTimeout(2'000);
// A long timeout, because ranks of other nodes may still be compiling the trial.
constexpr milliseconds kAllGatherTimeout(900'000);
// How long a call waits for a connection before it is sent anyway.
constexpr milliseconds kConnectTimeout(1'000);
// Longer outages are logged.
constexpr milliseconds kSilence(5'000);
constexpr size_t kCompressFrom = 1'024;  // bytes
constexpr int kUnlimited = -1;

// Errors after which a call is retried: no master was reached, or the result is unknown. A master
// that is killed or stopped drops its calls in each of these ways.
bool IsTransient(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::UNKNOWN:
      return true;
    default:
      return false;
  }
}

// Errors for an invalid token and for an allocation that has ended.
bool IsRunOver(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAUTHENTICATED ||
         status.error_code() == grpc::StatusCode::PERMISSION_DENIED ||
         status.error_code() == grpc::StatusCode::FAILED_PRECONDITION;
}

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& target,
                                           const TrialClient::Options::Tls& tls) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstPause.count());
  // The maximum time to connect, including TLS with a busy master.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxPause.count());
  // A proxy in the user's environment is not meant for traffic within the cluster.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Detects a master whose machine is gone.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  arguments.SetMaxReceiveMessageSize(kUnlimited);
  if (!tls.on) {
    return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
  }
  if (!tls.master_name.empty()) arguments.SetSslTargetNameOverride(tls.master_name);
  return grpc::CreateCustomChannel(target, grpc::SslCredentials({tls.authority, "", ""}),
                                   arguments);
}

void Authorize(grpc::ClientContext* context, const std::string& token) {
  context->AddMetadata("authorization", "Bearer " + token);
}

// The addresses of the masters, and the one to call. Any thread.
class Masters {
 public:
  explicit Masters(const TrialClient::Options& options) : addresses_(options.masters) {
    for (const std::string& address : addresses_) {
      channels_.push_back(MakeChannel(address, options.tls));
      stubs_.push_back(pb::TrialRuntime::NewStub(channels_.back()));
    }
  }

  // Waits for a connection. gRPC connects only while a thread waits for it, and a call between two
  // connection attempts fails at once, so calls at such times would never succeed.
  void Reach(size_t index, milliseconds timeout) const {
    grpc::Channel& channel = *channels_[index];
    const grpc_connectivity_state state = channel.GetState(/*try_to_connect=*/true);
    if (state == GRPC_CHANNEL_READY) return;
    // A running connection attempt is not disturbed.
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE) {
      grpc::experimental::ChannelResetConnectionBackoff(&channel);
    }
    channel.WaitForConnected(std::chrono::system_clock::now() + timeout);
  }

  size_t present() const { return present_; }
  pb::TrialRuntime::Stub* At(size_t index) const { return stubs_[index].get(); }
  const std::string& GetAddress(size_t index) const { return addresses_[index]; }
  // Selects the next master, unless another thread has already done so. Returns true after the last
  // master.
  bool Leave(size_t index) {
    const size_t next = (index + 1) % stubs_.size();
    present_.compare_exchange_strong(index, next);
    return next == 0;
  }

 private:
  const std::vector<std::string> addresses_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::vector<std::unique_ptr<pb::TrialRuntime::Stub>> stubs_;
  std::atomic<size_t> present_ = 0;
};

}  // namespace

struct TrialClient::Rep {
  explicit Rep(const Options& o) : options(o), masters(o) {}

  // Pauses; returns false once StopRetrying() was called.
  bool Pause(milliseconds pause) {
    std::unique_lock lock(mutex);
    return !woken.wait_for(lock, pause, [this] { return hurry.load(); });
  }

  template <class Request, class Response>
  using Method = grpc::Status (pb::TrialRuntime::Stub::*)(grpc::ClientContext*, const Request&,
                                                          Response*);

  template <class Request, class Response>
  grpc::Status Try(size_t master, Method<Request, Response> method, const Request& request,
                   milliseconds timeout, Response* response) {
    masters.Reach(master, hurry ? kConnectTimeout / 2 : kConnectTimeout);
    grpc::ClientContext context;
    Authorize(&context, options.token);
    if (request.ByteSizeLong() >= kCompressFrom) {
      context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
    }
    context.set_deadline(std::chrono::system_clock::now() + (hurry ? kLastCallTimeout : timeout));
    return (masters.At(master)->*method)(&context, request, response);
  }

  template <class Request, class Response>
  Response Call(const char* name, Method<Request, Response> method, const Request& request,
                milliseconds timeout = kCallTimeout) {
    const Clock::time_point start = Clock::now();
    milliseconds pause = kFirstPause;
    while (true) {
      const size_t master = masters.present();
      Response response;
      const grpc::Status status = Try(master, method, request, timeout, &response);
      away = IsTransient(status);
      if (status.ok()) {
        LogRecovery();
        return response;
      }
      ThrowIfRefused(name, status);
      const auto elapsed = Clock::now() - start;
      if (hurry || (options.retry_timeout && elapsed + pause > *options.retry_timeout) ||
          !Pause(pause)) {
        throw Unreachable("master at " + masters.GetAddress(master) + " does not answer " + name +
                          ": " + status.error_message());
      }
      if (elapsed > kSilence) LogOutage(masters.GetAddress(master), status.error_message());
      if (masters.Leave(master)) pause = std::min(2 * pause, kMaxPause);
    }
  }

  void ThrowIfRefused(const char* name, const grpc::Status& status) {
    if (IsTransient(status)) return;
    const std::string why = std::string(name) + " for allocation " + options.allocation_id +
                            " was rejected: " + status.error_message();
    if (IsRunOver(status)) throw RunIsOver(why);
    if (status.error_code() == grpc::StatusCode::INVALID_ARGUMENT) throw InvalidCall(why);
    throw Error(why);
  }

  void LogOutage(const std::string& address, const std::string& why) {
    if (outage_logged.exchange(true)) return;
    std::fprintf(stderr, "WARNING: master at %s does not answer: %s\n", address.c_str(),
                 why.c_str());
  }
  void LogRecovery() {
    if (outage_logged.exchange(false))
      std::fprintf(stderr, "INFO: the connection to the master is restored\n");
  }

  const Options options;
  Masters masters;
  std::atomic<bool> hurry = false;
  std::atomic<bool> away = false;
  std::atomic<bool> outage_logged = false;  // whether the outage was logged
  std::mutex mutex;
  std::condition_variable woken;
};

namespace {

// A thread that reads the stream, and reopens it after a pause when it breaks.
class StreamWatch final : public AllocationWatch {
 public:
  StreamWatch(Masters* masters, const TrialClient::Options& options, TrialClient::Listener listener)
      : masters_(masters), options_(options), listener_(std::move(listener)) {
    thread_ = std::thread([this] { Run(); });
  }

  ~StreamWatch() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      if (context_ != nullptr) context_->TryCancel();
    }
    stopped_.notify_all();
    thread_.join();
  }

 private:
  void Run() {
    milliseconds pause = kFirstPause;
    while (true) {
      bool heard = false;
      const size_t master = masters_->present();
      masters_->Reach(master, kConnectTimeout);
      const grpc::Status status = ReadOnce(masters_->At(master), &heard);
      if (heard) pause = kFirstPause;
      std::unique_lock lock(mutex_);
      if (stopping_) return;
      if (status.ok() || IsRunOver(status)) {
        lock.unlock();
        const std::string why = status.ok() ? "the allocation has ended" : status.error_message();
        if (listener_.on_end) listener_.on_end(why);
        return;
      }
      if (stopped_.wait_for(lock, pause, [this] { return stopping_; })) return;
      if (masters_->Leave(master)) pause = std::min(2 * pause, kMaxPause);
    }
  }

  grpc::Status ReadOnce(pb::TrialRuntime::Stub* stub, bool* heard) {
    grpc::ClientContext context;
    Authorize(&context, options_.token);
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return grpc::Status::CANCELLED;
      context_ = &context;
    }
    pb::WatchAllocationRequest request;
    request.set_allocation_id(options_.allocation_id);
    auto reader = stub->WatchAllocation(&context, request);
    pb::AllocationUpdate update;
    while (reader->Read(&update)) {
      *heard = true;
      Notify(update);
    }
    const grpc::Status status = reader->Finish();
    std::lock_guard lock(mutex_);
    context_ = nullptr;
    return status;
  }

  void Notify(const pb::AllocationUpdate& update) {
    if (update.has_rendezvous() && listener_.on_rendezvous) {
      std::vector<Node> nodes;
      for (const pb::Rendezvous::Node& node : update.rendezvous().nodes()) {
        nodes.push_back({node.agent_id(), node.address(), node.slots()});
      }
      listener_.on_rendezvous(nodes);
    }
    if (update.has_preemption() && listener_.on_preemption) {
      listener_.on_preemption(update.preemption().reason());
    }
  }

  Masters* const masters_;
  const TrialClient::Options options_;
  const TrialClient::Listener listener_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;                   // guarded by mutex_
  grpc::ClientContext* context_ = nullptr;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace

TrialClient::TrialClient(const Options& options) : rep_(std::make_unique<Rep>(options)) {}

TrialClient::~TrialClient() = default;

std::vector<std::string> TrialClient::AllGather(const std::string& key, int rank, int size,
                                                const std::string& mine) {
  pb::AllGatherRequest request;
  request.set_allocation_id(rep_->options.allocation_id);
  request.set_key(key);
  request.set_rank(rank);
  request.set_num_peers(size);
  request.set_data(mine);
  const pb::AllGatherResponse response =
      rep_->Call("AllGather", &pb::TrialRuntime::Stub::AllGather, request, kAllGatherTimeout);
  if (response.data_size() != size) {
    throw Error("AllGather '" + key + "': the master returned the data of " +
                std::to_string(response.data_size()) + " ranks instead of " + std::to_string(size));
  }
  return {response.data().begin(), response.data().end()};
}

bool TrialClient::ReportMetrics(const std::vector<MetricReport>& reports, std::optional<int> run) {
  pb::ReportMetricsRequest request;
  request.set_allocation_id(rep_->options.allocation_id);
  request.set_trial_id(rep_->options.trial_id);
  request.set_trial_run_id(run.value_or(rep_->options.trial_run_id));
  for (const MetricReport& report : reports) *request.add_reports() = ToProto(report);
  return rep_->Call("ReportMetrics", &pb::TrialRuntime::Stub::ReportMetrics, request).best_so_far();
}

void TrialClient::ReportProgress(double fraction) {
  pb::ReportProgressRequest request;
  request.set_allocation_id(rep_->options.allocation_id);
  request.set_trial_id(rep_->options.trial_id);
  request.set_progress(fraction);
  rep_->Call("ReportProgress", &pb::TrialRuntime::Stub::ReportProgress, request);
}

void TrialClient::ReportCheckpoint(const CheckpointReport& checkpoint) {
  pb::ReportCheckpointRequest request = ToProto(checkpoint);
  request.set_allocation_id(rep_->options.allocation_id);
  request.set_trial_id(rep_->options.trial_id);
  rep_->Call("ReportCheckpoint", &pb::TrialRuntime::Stub::ReportCheckpoint, request);
}

void TrialClient::AckPreemption() {
  pb::AckPreemptionRequest request;
  request.set_allocation_id(rep_->options.allocation_id);
  rep_->Call("AckPreemption", &pb::TrialRuntime::Stub::AckPreemption, request);
}

void TrialClient::ReportEarlyExit(EarlyExit reason, const std::string& message) {
  pb::ReportEarlyExitRequest request;
  request.set_allocation_id(rep_->options.allocation_id);
  switch (reason) {
    case EarlyExit::kInvalidHp:
      request.set_reason(pb::ReportEarlyExitRequest::INVALID_HP);
      break;
    case EarlyExit::kInvalidCode:
      request.set_reason(pb::ReportEarlyExitRequest::INVALID_CODE);
      break;
    case EarlyExit::kFailed:
      request.set_reason(pb::ReportEarlyExitRequest::FAILED);
      break;
  }
  request.set_message(message);
  rep_->Call("ReportEarlyExit", &pb::TrialRuntime::Stub::ReportEarlyExit, request);
}

std::unique_ptr<AllocationWatch> TrialClient::WatchAllocation(Listener listener) {
  return std::make_unique<StreamWatch>(&rep_->masters, rep_->options, std::move(listener));
}

bool TrialClient::IsMasterUnavailable() const { return rep_->away; }

void TrialClient::StopRetrying() {
  {
    std::lock_guard lock(rep_->mutex);
    rep_->hurry = true;
  }
  rep_->woken.notify_all();
}

}  // namespace det::core
