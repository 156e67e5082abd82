// Requests as text, into every method of a master on a store in memory.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "master/gateway/transcoder.h"
#include "master/store/fake_database.h"
#include "master/testing/world.h"
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

namespace {

using det::gateway::Transcoder;
using det::master::World;

// What calls leave behind makes later ones slow.
constexpr int kCallsOfAWorld = 2000;
// Of a stream; then its reader goes away.
constexpr int kMessages = 3;
constexpr std::chrono::milliseconds kSilence{5};
constexpr std::chrono::seconds kPatience{10};

void Promise(bool kept, const char* what, std::string_view text) {
  if (kept) return;
  std::cerr << what << "\n" << text << "\n";
  std::abort();
}

World& Current() {
  static std::unique_ptr<World> world;
  static int calls = 0;
  if (calls++ % kCallsOfAWorld == 0) {
    world.reset();
    world = std::make_unique<World>(std::make_shared<det::store::FakeDatabase>());
  }
  return *world;
}

const Transcoder& Routes() {
  static const Transcoder* const routes = [] {
    std::vector<const google::protobuf::ServiceDescriptor*> services;
    for (const std::string& name : Current().services()) {
      services.push_back(
          google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name));
    }
    return new Transcoder(*Transcoder::Make(services));
  }();
  return *routes;
}

// One call, its events waited for one after the other.
class Asking {
 public:
  explicit Asking(const Transcoder::Call& call) : path_(call.path), streams_(call.streams) {
    context_.AddMetadata("authorization", "Bearer user");
    context_.set_deadline(std::chrono::system_clock::now() + kPatience);
    call_ = grpc::GenericStub(Current().channel()).PrepareCall(&context_, path_, &queue_);
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
  // False at the end, and when nothing comes for a while: a stream may follow what does not happen.
  bool Read() {
    call_->Read(&message_, nullptr);
    if (!streams_) return Wait();
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
  for (const std::string& message : Asking(*call).Messages()) {
    const auto written = Transcoder::WriteBody(*call, message);
    Promise(written.ok(), "an answer that cannot be written", text);
  }
  return 0;
}
