// Requests as text, into every method of a master on a store in memory, by those who may ask one:
// half of them by a task of its own token, the others by a viewer and by an administrator.
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
using det::tests::PlayedAgent;
using det::tests::World;

constexpr char kConfig[] = R"(
name: fuzz
entrypoint: "true"
searcher: {name: single, metric: loss, smaller_is_better: true, max_length: {batches: 10}}
)";

// What calls leave behind makes later ones slow, and some end what others are about.
constexpr int kCallsOfACluster = 500;
// Of a stream; then its reader goes away.
constexpr int kMessages = 3;
constexpr std::chrono::milliseconds kSilence{5};
constexpr std::chrono::seconds kPatience{10};

void Promise(bool kept, const char* what, std::string_view text) {
  if (kept) return;
  std::cerr << what << "\n" << text << "\n";
  std::abort();
}

// A master whose experiment 1 runs: trial 1, task 1.1, allocation 1.1.0.
class Cluster {
 public:
  Cluster() {
    const auto viewer = world_.store().users().AddUser({.username = "viewer"});
    Promise(viewer.ok() &&
                world_.store().access().AddRole({viewer->id, 0, det::model::Role::kViewer}).ok(),
            "no viewer", "");
    viewer_id_ = viewer->id;
    Promise(agent_.Next().has_registered(), "no agent", "");
    det::tests::As context("user");
    api::CreateExperimentRequest request;
    request.set_config(kConfig);
    request.set_activate(true);
    api::CreateExperimentResponse response;
    const auto experiments = api::ExperimentService::NewStub(world_.channel());
    Promise(experiments->CreateExperiment(&context, request, &response).ok(), "no experiment", "");
    const det::tests::wire::StartTask start = agent_.Next().start();
    task_ = start.task().session_token();
    agent_.Started(start.task().allocation_id());
    agent_.AwaitAck();
  }

  World& world() { return world_; }

  // Who sends this, drawn by what it says: the same each time. People sign in again, as what was
  // asked before may have been their session's end.
  const std::string& TokenFor(std::string_view text) {
    world_.Session(admin_, det::store::SessionRecord::Kind::kUser);
    world_.Session(viewer_, det::store::SessionRecord::Kind::kUser, viewer_id_);
    uint32_t hash = 2166136261U;
    for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
    const std::array<const std::string*, 4> callers = {&task_, &task_, &viewer_, &admin_};
    return *callers[hash % callers.size()];
  }

 private:
  World world_{std::make_shared<det::store::FakeDatabase>()};
  PlayedAgent agent_{world_, "agent-0", 1};
  std::string task_;
  det::model::UserId viewer_id_;
  const std::string viewer_ = "viewer";
  const std::string admin_ = "user";
};

Cluster& Current() {
  static std::unique_ptr<Cluster> cluster;
  static int calls = 0;
  if (calls++ % kCallsOfACluster == 0) {
    cluster.reset();
    cluster = std::make_unique<Cluster>();
  }
  return *cluster;
}

const Transcoder& Routes() {
  static const Transcoder* const routes = [] {
    std::vector<const google::protobuf::ServiceDescriptor*> services;
    for (const std::string& name : Current().world().services()) {
      services.push_back(
          google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name));
    }
    return new Transcoder(*Transcoder::Make(services));
  }();
  return *routes;
}

// By what it is for, as a stream that follows.
bool WaitsForOthers(std::string_view path) {
  return path.ends_with("/AllocationRendezvousInfo") ||
         path.ends_with("/AllocationPreemptionSignal") || path.ends_with("/AllGather");
}

// One call, its events waited for one after the other.
class Asking {
 public:
  Asking(Cluster& cluster, const Transcoder::Call& call, const std::string& token)
      : path_(call.path), streams_(call.streams), waits_(streams_ || WaitsForOthers(path_)) {
    context_.AddMetadata("authorization", "Bearer " + token);
    context_.set_deadline(std::chrono::system_clock::now() + kPatience);
    call_ = grpc::GenericStub(cluster.world().channel()).PrepareCall(&context_, path_, &queue_);
    call_->StartCall(nullptr);
    Wait();
    const grpc::Slice slice(call.request);
    call_->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
    Wait();
  }

  // The messages, serialised; of a refused call none.
  std::vector<std::string> Messages() {
    std::vector<std::string> messages;
    while (messages.size() < (streams_ ? kMessages : 1) && Read()) {
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
  // False at the end, and when nothing comes for a while: what is waited for may not happen.
  bool Read() {
    call_->Read(&message_, nullptr);
    if (!waits_) return Wait();
    void* tag = nullptr;
    bool ok = false;
    const auto patience = std::chrono::system_clock::now() + kSilence;
    if (queue_.AsyncNext(&tag, &ok, patience) != grpc::CompletionQueue::TIMEOUT) return ok;
    silent_ = true;
    return false;
  }
  void End() {
    context_.TryCancel();
    if (silent_) Wait();
    call_->Finish(&status_, nullptr);
    Wait();
    Promise(status_.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED, "no answer", path_);
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
    Promise(!call.status().message().empty(), "an error without a message", text);
    return 0;
  }
  Cluster& cluster = Current();
  for (const std::string& message : Asking(cluster, *call, cluster.TokenFor(text)).Messages()) {
    const auto written = Transcoder::WriteBody(*call, message);
    Promise(written.ok(), "an answer that cannot be written", text);
  }
  return 0;
}
