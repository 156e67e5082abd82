// Fuzzes the methods of a master with an in-memory store. Half of the requests have the token of a
// task, the others that of a viewer or an administrator.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "det/api/v1/experiment.grpc.pb.h"
#include "master/gateway/transcoder.h"
#include "master/store/testing/fake_database.h"
#include "master/tests/testing/fake_agent.h"
#include "master/tests/testing/test_master.h"
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

namespace {

namespace api = det::api::v1;
using det::gateway::Transcoder;
using det::tests::FakeAgent;
using det::tests::TestMaster;

constexpr char kConfig[] = R"(
name: fuzz
entrypoint: "true"
searcher: {name: single, metric: loss, smaller_is_better: true, max_length: {batches: 10}}
)";

// Calls change the state, which slows down later calls and ends resources that they refer to, so
// the cluster is replaced after this number of calls.
constexpr int kCallsPerCluster = 500;
// The reader of a stream cancels it after this number of messages, or when none arrives for this
// time.
constexpr int kMaxMessages = 3;
constexpr std::chrono::milliseconds kMaxSilence{5};
constexpr std::chrono::seconds kCallTimeout{10};

void Check(bool condition, const char* message, std::string_view text) {
  if (condition) return;
  std::cerr << message << "\n" << text << "\n";
  std::abort();
}

// A master with a running experiment 1: trial 1, task 1.1, allocation 1.1.0.
class Cluster {
 public:
  Cluster() {
    const auto viewer = master_.store().users().AddUser({.username = "viewer"});
    Check(viewer.ok() &&
              master_.store().access().AddRole({viewer->id, 0, det::model::Role::kViewer}).ok(),
          "no viewer", "");
    viewer_id_ = viewer->id;
    Check(agent_.Next().has_registered(), "no agent", "");
    det::tests::CallContext context("user");
    api::CreateExperimentRequest request;
    request.set_config(kConfig);
    request.set_activate(true);
    api::CreateExperimentResponse response;
    const auto experiments = api::ExperimentService::NewStub(master_.channel());
    Check(experiments->CreateExperiment(&context, request, &response).ok(), "no experiment", "");
    const det::tests::wire::StartTask start = agent_.Next().start();
    task_ = start.task().session_token();
    agent_.Started(start.task().allocation_id());
    agent_.AwaitAck();
  }

  TestMaster& master() { return master_; }

  // The token of the caller of this request, chosen by a hash of its text. The users sign in again,
  // because an earlier request may have ended their sessions.
  const std::string& TokenFor(std::string_view text) {
    master_.AddSession(admin_, det::store::SessionRecord::Kind::kUser);
    master_.AddSession(viewer_, det::store::SessionRecord::Kind::kUser, viewer_id_);
    uint32_t hash = 2166136261U;
    for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
    const std::array<const std::string*, 4> callers = {&task_, &task_, &viewer_, &admin_};
    return *callers[hash % callers.size()];
  }

 private:
  TestMaster master_{std::make_shared<det::store::FakeDatabase>()};
  FakeAgent agent_{master_, "agent-0", 1};
  std::string task_;
  det::model::UserId viewer_id_;
  const std::string viewer_ = "viewer";
  const std::string admin_ = "user";
};

Cluster& Current() {
  static std::unique_ptr<Cluster> cluster;
  static int calls = 0;
  if (calls++ % kCallsPerCluster == 0) {
    cluster.reset();
    cluster = std::make_unique<Cluster>();
  }
  return *cluster;
}

const Transcoder& Routes() {
  static const Transcoder* const routes = [] {
    std::vector<const google::protobuf::ServiceDescriptor*> services;
    for (const std::string& name : Current().master().services()) {
      services.push_back(
          google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name));
    }
    return new Transcoder(*Transcoder::Make(services));
  }();
  return *routes;
}

// Whether the method waits for other callers or for a later event, like a stream.
bool WaitsForOthers(std::string_view path) {
  return path.ends_with("/AllocationRendezvousInfo") ||
         path.ends_with("/AllocationPreemptionSignal") || path.ends_with("/AllGather");
}

// One call, whose events are awaited one after the other.
class Caller {
 public:
  Caller(Cluster& cluster, const Transcoder::Call& call, const std::string& token)
      : path_(call.path), streams_(call.streams), waits_(streams_ || WaitsForOthers(path_)) {
    context_.AddMetadata("authorization", "Bearer " + token);
    context_.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
    call_ = grpc::GenericStub(cluster.master().channel()).PrepareCall(&context_, path_, &queue_);
    call_->StartCall(nullptr);
    Wait();
    const grpc::Slice slice(call.request->SerializeAsString());
    call_->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
    Wait();
  }

  // The serialized messages; none if the call was rejected.
  std::vector<std::string> Messages() {
    std::vector<std::string> messages;
    while (messages.size() < (streams_ ? kMaxMessages : 1) && Read()) {
      grpc::Slice whole;
      if (!message_.DumpToSingleSlice(&whole).ok()) break;
      messages.emplace_back(reinterpret_cast<const char*>(whole.begin()), whole.size());
    }
    End();
    return messages;
  }

 private:
  bool Wait() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }
  // Returns false at the end of the stream, and when no message arrives for kMaxSilence.
  bool Read() {
    call_->Read(&message_, nullptr);
    if (!waits_) return Wait();
    void* tag = nullptr;
    bool ok = false;
    const auto deadline = std::chrono::system_clock::now() + kMaxSilence;
    if (queue_.AsyncNext(&tag, &ok, deadline) != grpc::CompletionQueue::TIMEOUT) return ok;
    silent_ = true;
    return false;
  }
  void End() {
    context_.TryCancel();
    if (silent_) Wait();
    call_->Finish(&status_, nullptr);
    Wait();
    Check(status_.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED, "no response", path_);
  }

  const std::string path_;
  const bool streams_;
  const bool waits_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  grpc::ByteBuffer message_;
  grpc::Status status_;
  bool silent_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view head = text.substr(0, text.find('\n'));
  const std::string_view body = head.size() < size ? text.substr(head.size() + 1) : "";
  const size_t space = head.find(' ');
  if (space == head.npos) return 0;
  const auto route = Routes().Find(head.substr(0, space), head.substr(space + 1));
  if (!route.ok()) return 0;
  const auto call = Transcoder::Read(*route, body);
  if (!call.ok()) {
    Check(!call.status().message().empty(), "an error without a message", text);
    return 0;
  }
  Cluster& cluster = Current();
  for (const std::string& message : Caller(cluster, *call, cluster.TokenFor(text)).Messages()) {
    const auto written = Transcoder::WriteBody(*call, message);
    Check(written.ok(), "a response that cannot be written", text);
  }
  return 0;
}
