#include "trial_api/cpp/core/fake_master.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "det/trial/v1/trial.grpc.pb.h"
#include <google/protobuf/util/json_util.h>
#include <grpcpp/grpcpp.h>

namespace det::core {

namespace pb = ::det::trial::v1;

namespace {

constexpr char kAllocation[] = "1.1.0";
constexpr char kToken[] = "secret";

grpc::Status Authorize(const grpc::ServerContext& context, const std::string& allocation) {
  const auto found = context.client_metadata().find("authorization");
  const std::string expected = std::string("Bearer ") + kToken;
  if (found == context.client_metadata().end() ||
      std::string(found->second.data(), found->second.size()) != expected) {
    return {grpc::StatusCode::UNAUTHENTICATED, "no token"};
  }
  if (allocation != kAllocation) return {grpc::StatusCode::NOT_FOUND, "unknown allocation"};
  return grpc::Status::OK;
}

}  // namespace

class FakeMaster::Service final : public pb::TrialRuntime::Service {
 public:
  grpc::Status WatchAllocation(grpc::ServerContext* context,
                               const pb::WatchAllocationRequest* request,
                               grpc::ServerWriter<pb::AllocationUpdate>* writer) override {
    if (const auto status = Authorize(*context, request->allocation_id()); !status.ok()) {
      return status;
    }
    size_t sent = 0;
    std::unique_lock lock(mutex_);
    while (!context->IsCancelled()) {
      while (sent < updates_.size()) {
        const pb::AllocationUpdate update = updates_[sent++];
        if (!writer->Write(update)) return grpc::Status::OK;
      }
      if (ended_) return grpc::Status::OK;
      // A cancelled call does not wake up this thread.
      changed_.wait_for(lock, std::chrono::milliseconds(20));
    }
    return grpc::Status::CANCELLED;
  }

  grpc::Status AllGather(grpc::ServerContext* context, const pb::AllGatherRequest* request,
                         pb::AllGatherResponse* response) override {
    std::unique_lock lock(mutex_);
    if (const auto status = Admit(*context, request->allocation_id()); !status.ok()) return status;
    auto& gathered = gathers_[request->key()];
    gathered[request->rank()] = request->data();
    changed_.notify_all();
    const auto peers = static_cast<size_t>(request->num_peers());
    changed_.wait(lock, [&] { return gathered.size() >= peers || ended_; });
    for (const auto& [rank, data] : gathered) response->add_data(data);
    return grpc::Status::OK;
  }

  grpc::Status ReportMetrics(grpc::ServerContext* context, const pb::ReportMetricsRequest* request,
                             pb::ReportMetricsResponse* response) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !hold_metrics_ || ended_ || down_; });
    if (const auto status = Admit(*context, request->allocation_id()); !status.ok()) return status;
    if (!refusal_.empty()) return {grpc::StatusCode::FAILED_PRECONDITION, refusal_};
    for (const pb::MetricReport& report : request->reports()) {
      if (rejected_steps_.contains(report.steps_completed())) {
        return {grpc::StatusCode::INVALID_ARGUMENT, "the step is invalid"};
      }
    }
    for (const pb::MetricReport& report : request->reports()) {
      std::ostringstream text;
      text << "metrics " << report.group() << ' ' << report.steps_completed();
      const auto& fields = report.metrics().fields();
      const std::map<std::string, google::protobuf::Value> sorted(fields.begin(), fields.end());
      for (const auto& [name, value] : sorted) text << ' ' << name << '=' << value.number_value();
      if (request->trial_run_id() != 0) text << " run=" << request->trial_run_id();
      AddOnce({std::to_string(request->trial_run_id()), report.group(),
               std::to_string(report.steps_completed())},
              text.str());
    }
    response->set_best_so_far(best_);
    return Answer();
  }

  grpc::Status ReportProgress(grpc::ServerContext* context,
                              const pb::ReportProgressRequest* request,
                              pb::ReportProgressResponse*) override {
    std::ostringstream text;
    text << "progress " << request->progress();
    return Record(*context, request->allocation_id(), text.str());
  }

  grpc::Status ReportCheckpoint(grpc::ServerContext* context,
                                const pb::ReportCheckpointRequest* request,
                                pb::ReportCheckpointResponse*) override {
    std::lock_guard lock(mutex_);
    if (const auto status = Admit(*context, request->allocation_id()); !status.ok()) return status;
    if (!refusal_.empty()) return {grpc::StatusCode::FAILED_PRECONDITION, refusal_};
    if (!request->damage().empty()) {
      AddOnce({request->uuid(), "damaged"},
              "damaged " + request->uuid() + ' ' + request->instead());
      return Answer();
    }
    std::ostringstream text;
    text << "checkpoint " << request->uuid() << ' ' << request->steps_completed();
    const std::map<std::string, int64_t> files(request->resources().begin(),
                                               request->resources().end());
    for (const auto& [name, size] : files) text << ' ' << name << '=' << size;
    AddOnce({request->uuid()}, text.str());
    return Answer();
  }

  grpc::Status AckPreemption(grpc::ServerContext* context, const pb::AckPreemptionRequest* request,
                             pb::AckPreemptionResponse*) override {
    return Record(*context, request->allocation_id(), "ack");
  }

  grpc::Status ReportEarlyExit(grpc::ServerContext* context,
                               const pb::ReportEarlyExitRequest* request,
                               pb::ReportEarlyExitResponse*) override {
    return Record(*context, request->allocation_id(),
                  "early_exit " + pb::ReportEarlyExitRequest::Reason_Name(request->reason()) + " " +
                      request->message());
  }

  void Send(pb::AllocationUpdate update) {
    Change([&] { updates_.push_back(std::move(update)); });
  }
  void End() {
    Change([this] { ended_ = true; });
  }
  void SetUnavailable(int calls) {
    Change([&] { unavailable_calls_ = calls; });
  }
  void SetLostResponses(int calls) {
    Change([&] { lost_responses_ = calls; });
  }
  void SetDown(bool down) {
    Change([&] { down_ = down; });
  }
  int Repeats() {
    std::lock_guard lock(mutex_);
    return repeats_;
  }
  void SetRejection(const std::string& message) {
    Change([&] { refusal_ = message; });
  }
  void RejectStep(int64_t step) {
    Change([&] { rejected_steps_.insert(step); });
  }
  void SetBest(bool best) {
    Change([&] { best_ = best; });
  }
  void SetHold(bool hold) {
    Change([&] { hold_metrics_ = hold; });
  }

  std::vector<std::string> Await(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reports_.size() >= count; });
    return reports_;
  }

 private:
  template <class Function>
  void Change(Function function) {
    std::lock_guard lock(mutex_);
    function();
    changed_.notify_all();
  }

  // REQUIRES mutex_ is held.
  grpc::Status Admit(const grpc::ServerContext& context, const std::string& allocation) {
    if (down_) return {grpc::StatusCode::UNAVAILABLE, "down"};
    if (unavailable_calls_ > 0) {
      --unavailable_calls_;
      return {grpc::StatusCode::UNAVAILABLE, "away"};
    }
    return Authorize(context, allocation);
  }
  void Add(std::string report) {
    reports_.push_back(std::move(report));
    changed_.notify_all();
  }

  void AddOnce(const std::vector<std::string>& key, std::string report) {
    if (known_.insert(key).second) {
      Add(std::move(report));
    } else {
      ++repeats_;
    }
  }
  grpc::Status Answer() {
    if (lost_responses_ == 0) return grpc::Status::OK;
    --lost_responses_;
    return {grpc::StatusCode::UNAVAILABLE, "the answer is lost"};
  }

  grpc::Status Record(const grpc::ServerContext& context, const std::string& allocation,
                      std::string report) {
    std::lock_guard lock(mutex_);
    if (const auto status = Admit(context, allocation); !status.ok()) return status;
    Add(std::move(report));
    return grpc::Status::OK;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  // All guarded by mutex_.
  std::vector<pb::AllocationUpdate> updates_;
  std::map<std::string, std::map<int, std::string>> gathers_;
  std::vector<std::string> reports_;
  std::set<std::vector<std::string>> known_;
  int repeats_ = 0;
  std::string refusal_;
  std::set<int64_t> rejected_steps_;
  int unavailable_calls_ = 0;
  int lost_responses_ = 0;
  bool down_ = false;
  bool ended_ = false;
  bool best_ = false;
  bool hold_metrics_ = false;
};

struct FakeMaster::Server {
  int port = 0;
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
  std::unique_ptr<grpc::Server> server;
};

FakeMaster::FakeMaster()
    : service_(std::make_unique<Service>()), server_(std::make_unique<Server>()) {
  Start();
}

FakeMaster::~FakeMaster() {
  service_->End();
  if (server_->server) server_->server->Shutdown();
}

void FakeMaster::Start() {
  service_->SetDown(false);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:" + std::to_string(server_->port), server_->credentials,
                           &server_->port);
  builder.RegisterService(service_.get());
  server_->server = builder.BuildAndStart();
}

void FakeMaster::ServeTls(const std::string& certificate, const std::string& key) {
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back({key, certificate});
  server_->credentials = grpc::SslServerCredentials(options);
}

void FakeMaster::Stop() {
  service_->SetDown(true);
  server_->server->Shutdown(std::chrono::system_clock::now());
  server_->server.reset();
}

TrialClient::Options FakeMaster::ClientOptions() const {
  TrialClient::Options options;
  options.masters = {"127.0.0.1:" + std::to_string(server_->port)};
  options.token = kToken;
  options.allocation_id = kAllocation;
  options.trial_id = 1;
  return options;
}

std::map<std::string, std::string> FakeMaster::Environment() const {
  return {{"DET_MASTER_HOST", "127.0.0.1"},
          {"DET_MASTER_PORT", std::to_string(server_->port)},
          {"DET_SESSION_TOKEN", kToken},
          {"DET_ALLOCATION_ID", kAllocation},
          {"DET_TRIAL_ID", "1"},
          {"DET_TRIAL_RUN_ID", "0"},
          {"DET_AGENT_ID", "agent"},
          {"DET_CLUSTER_ID", "test"},
          {"DET_SLOT_TYPE", "cpu"}};
}

void FakeMaster::SendRendezvous(const std::vector<Node>& nodes) {
  pb::AllocationUpdate update;
  for (const Node& node : nodes) {
    pb::Rendezvous::Node* const out = update.mutable_rendezvous()->add_nodes();
    out->set_agent_id(node.agent_id);
    out->set_address(node.address);
    out->set_slots(node.slots);
  }
  service_->Send(std::move(update));
}

void FakeMaster::Preempt(const std::string& reason) {
  pb::AllocationUpdate update;
  update.mutable_preemption()->set_reason(reason);
  service_->Send(std::move(update));
}

void FakeMaster::EndAllocation() { service_->End(); }
void FakeMaster::FailCalls(int calls) { service_->SetUnavailable(calls); }
void FakeMaster::LoseResponses(int calls) { service_->SetLostResponses(calls); }
int FakeMaster::Repeats() const { return service_->Repeats(); }
void FakeMaster::RejectReports(const std::string& message) { service_->SetRejection(message); }
void FakeMaster::RejectStep(int64_t step) { service_->RejectStep(step); }
void FakeMaster::SetBestSoFar(bool best) { service_->SetBest(best); }
void FakeMaster::BlockMetrics(bool hold) { service_->SetHold(hold); }
std::vector<std::string> FakeMaster::Reports() const { return service_->Await(0); }
std::vector<std::string> FakeMaster::WaitForReports(size_t count) const {
  return service_->Await(count);
}

}  // namespace det::core
