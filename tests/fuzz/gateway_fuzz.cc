// Requests as text, into every unary method of a master on a store in memory.
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

// The answer, serialised; false when the call was refused.
bool Ask(const Transcoder::Call& call, std::string* answer) {
  grpc::GenericStub stub(Current().channel());
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer user");
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  grpc::CompletionQueue queue;
  const grpc::Slice slice(call.request);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  grpc::Status status;
  const auto rpc = stub.PrepareUnaryCall(&context, call.path, request, &queue);
  rpc->StartCall();
  rpc->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  Promise(status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED, "no answer", call.path);
  if (!status.ok()) return false;
  grpc::Slice whole;
  if (response.DumpToSingleSlice(&whole).ok()) {
    answer->assign(reinterpret_cast<const char*>(whole.begin()), whole.size());
  }
  return true;
}

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
  if (call->streams) return 0;
  std::string answer;
  if (!Ask(*call, &answer)) return 0;
  const auto written = Transcoder::WriteBody(*call, answer);
  Promise(written.ok(), "an answer that cannot be written", text);
  return 0;
}
