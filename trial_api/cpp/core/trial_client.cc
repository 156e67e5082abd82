#include "trial_api/cpp/core/trial_client.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "det/trial/v1/trial.grpc.pb.h"
#include "trial_api/cpp/core/environment.h"
#include "trial_api/cpp/core/error.h"
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/time_util.h>
#include <grpcpp/grpcpp.h>

namespace det::core {
namespace {

namespace pb = ::det::trial::v1;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kFirstPause(100);
constexpr milliseconds kLongestPause(5'000);
constexpr milliseconds kCallTimeout(60'000);
constexpr milliseconds kLastCallTimeout(2'000);
// Ranks of other nodes may still compile the trial.
constexpr milliseconds kAllGatherTimeout(900'000);
constexpr int kUnlimited = -1;

bool IsTransient(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE ||
         status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
}

google::protobuf::Timestamp ToProto(std::chrono::system_clock::time_point time) {
  return google::protobuf::util::TimeUtil::MicrosecondsToTimestamp(
      std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count());
}

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& target) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstPause.count());
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestPause.count());
  // A proxy of the user's environment is not for the cluster's own traffic.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Notices a master whose machine is gone.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  arguments.SetMaxReceiveMessageSize(kUnlimited);
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

void Authorize(grpc::ClientContext* context, const std::string& token) {
  context->AddMetadata("authorization", "Bearer " + token);
}

}  // namespace

struct TrialClient::Rep {
  explicit Rep(const Options& o)
      : options(o), stub(pb::TrialRuntime::NewStub(MakeChannel(o.target))) {}

  // Pauses; false once GiveUpSoon() was called.
  bool Pause(milliseconds pause) {
    std::unique_lock lock(mutex);
    return !woken.wait_for(lock, pause, [this] { return hurry.load(); });
  }

  template <class Request, class Response>
  using Method = grpc::Status (pb::TrialRuntime::Stub::*)(grpc::ClientContext*, const Request&,
                                                          Response*);

  template <class Request, class Response>
  Response Call(const char* name, Method<Request, Response> method, const Request& request,
                milliseconds timeout = kCallTimeout) {
    const Clock::time_point limit = Clock::now() + options.patience;
    milliseconds pause = kFirstPause;
    while (true) {
      grpc::ClientContext context;
      Authorize(&context, options.token);
      context.set_deadline(std::chrono::system_clock::now() + (hurry ? kLastCallTimeout : timeout));
      Response response;
      const grpc::Status status = ((*stub).*method)(&context, request, &response);
      if (status.ok()) return response;
      if (!IsTransient(status)) {
        throw Error(std::string(name) + " for allocation " + options.allocation_id +
                    " was refused: " + status.error_message());
      }
      if (hurry || Clock::now() + pause > limit || !Pause(pause)) {
        throw Unreachable("master at " + options.target + " does not answer " + name + ": " +
                          status.error_message());
      }
      pause = std::min(2 * pause, kLongestPause);
    }
  }

  const Options options;
  const std::unique_ptr<pb::TrialRuntime::Stub> stub;
  std::atomic<bool> hurry = false;
  std::mutex mutex;
  std::condition_variable woken;
};

namespace {

// A thread that reads the stream, and opens it again after a pause when it breaks.
class StreamWatch final : public AllocationWatch {
 public:
  StreamWatch(pb::TrialRuntime::Stub* stub, const TrialClient::Options& options,
              TrialClient::Listener listener)
      : stub_(stub), options_(options), listener_(std::move(listener)) {
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
      const grpc::Status status = ReadOnce(&heard);
      if (heard) pause = kFirstPause;
      std::unique_lock lock(mutex_);
      if (stopping_) return;
      if (!IsTransient(status)) {
        lock.unlock();
        const std::string why = status.ok() ? "the allocation has ended" : status.error_message();
        if (listener_.on_end) listener_.on_end(why);
        return;
      }
      if (stopped_.wait_for(lock, pause, [this] { return stopping_; })) return;
      pause = std::min(2 * pause, kLongestPause);
    }
  }

  grpc::Status ReadOnce(bool* heard) {
    grpc::ClientContext context;
    Authorize(&context, options_.token);
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return grpc::Status::CANCELLED;
      context_ = &context;
    }
    pb::WatchAllocationRequest request;
    request.set_allocation_id(options_.allocation_id);
    auto reader = stub_->WatchAllocation(&context, request);
    pb::AllocationUpdate update;
    while (reader->Read(&update)) {
      *heard = true;
      Tell(update);
    }
    const grpc::Status status = reader->Finish();
    std::lock_guard lock(mutex_);
    context_ = nullptr;
    return status;
  }

  void Tell(const pb::AllocationUpdate& update) {
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

  pb::TrialRuntime::Stub* const stub_;
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
    throw Error("AllGather '" + key + "': the master gave the data of " +
                std::to_string(response.data_size()) + " ranks instead of " + std::to_string(size));
  }
  return {response.data().begin(), response.data().end()};
}

bool TrialClient::ReportMetrics(const std::vector<MetricReport>& reports) {
  pb::ReportMetricsRequest request;
  request.set_allocation_id(rep_->options.allocation_id);
  request.set_trial_id(rep_->options.trial_id);
  request.set_trial_run_id(rep_->options.trial_run_id);
  for (const MetricReport& report : reports) {
    pb::MetricReport* const out = request.add_reports();
    out->set_group(report.group);
    out->set_steps_completed(static_cast<int32_t>(report.steps_completed));
    *out->mutable_report_time() = ToProto(report.time);
    auto& fields = *out->mutable_metrics()->mutable_fields();
    for (const auto& [name, value] : report.metrics) fields[name].set_number_value(value);
  }
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
  pb::ReportCheckpointRequest request;
  request.set_allocation_id(rep_->options.allocation_id);
  request.set_trial_id(rep_->options.trial_id);
  request.set_uuid(checkpoint.uuid);
  request.set_steps_completed(static_cast<int32_t>(checkpoint.steps_completed));
  for (const auto& [name, bytes] : checkpoint.resources) {
    (*request.mutable_resources())[name] = bytes;
  }
  *request.mutable_report_time() = ToProto(std::chrono::system_clock::now());
  const auto parsed = google::protobuf::util::JsonStringToMessage(checkpoint.metadata_json,
                                                                  request.mutable_metadata());
  if (!parsed.ok()) throw Error("metadata of checkpoint " + checkpoint.uuid + ": no JSON object");
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
  return std::make_unique<StreamWatch>(rep_->stub.get(), rep_->options, std::move(listener));
}

void TrialClient::GiveUpSoon() {
  {
    std::lock_guard lock(rep_->mutex);
    rep_->hurry = true;
  }
  rep_->woken.notify_all();
}

TrialClient::Options ClientOptionsFromEnvironment() {
  TrialClient::Options options;
  options.target = RequireEnv("DET_MASTER_HOST") + ":" + RequireEnv("DET_MASTER_PORT");
  options.token = RequireEnv("DET_SESSION_TOKEN");
  options.allocation_id = RequireEnv("DET_ALLOCATION_ID");
  options.trial_id = static_cast<int>(RequireEnvInt("DET_TRIAL_ID"));
  options.trial_run_id = static_cast<int>(RequireEnvInt("DET_TRIAL_RUN_ID"));
  return options;
}

}  // namespace det::core
