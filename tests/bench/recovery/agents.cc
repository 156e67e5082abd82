// Simulated agents. Each keeps a stream to the master, registers its running tasks, and reconnects
// when the stream ends. Runs until the end of stdin.
//
// Usage: agents HOST:PORT TOKEN_FILE < output of `fill`, followed by an input that keeps stdin open
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/file.h"
#include "base/installation.h"
#include "det/agent/v1/agent.grpc.pb.h"
#include <grpcpp/grpcpp.h>

namespace {

namespace wire = det::agent::v1;

constexpr int kSlots = 8;
constexpr auto kPause = std::chrono::milliseconds(50);

wire::AgentMessage MakeRegister(const std::vector<std::string>& words) {
  wire::AgentMessage message;
  wire::Register& registration = *message.mutable_register_();
  registration.set_agent_id(words[0]);
  registration.set_version(det::base::kVersion);
  registration.set_incarnation("bench");
  registration.set_address("127.0.0.1");
  registration.set_resource_pool("default");
  for (int i = 0; i < kSlots; ++i) registration.add_slots()->set_id(i);
  for (size_t i = 1; i < words.size(); ++i) {
    wire::RunningTask& task = *registration.add_running();
    task.set_allocation_id(words[i]);
    task.add_slots(static_cast<int>(i) - 1);
  }
  return message;
}

void Live(const std::string& target, const std::string& token, const wire::AgentMessage& hello) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL,
                   1);  // A connection per agent, as with real machines.
  const auto channel =
      grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
  const auto stub = wire::AgentHub::NewStub(channel);
  while (true) {
    grpc::ClientContext context;
    context.AddMetadata("authorization", absl::StrCat("Bearer ", token));
    // gRPC connects only while a call waits for the connection; calls that fail immediately never
    // connect.
    context.set_wait_for_ready(true);
    const auto stream = stub->Connect(&context);
    stream->Write(hello);
    wire::MasterMessage message;
    while (stream->Read(&message)) {
      if (message.has_shutdown()) std::fprintf(stderr, "%s\n", message.shutdown().reason().c_str());
    }
    stream->Finish();
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

int main(int argc, char** argv) {
  DET_CHECK(argc == 3) << "usage: agents HOST:PORT TOKEN_FILE";
  auto token = det::base::ReadFile(argv[2]);
  DET_CHECK_OK(token);
  absl::StripAsciiWhitespace(&*token);
  for (std::string line; std::getline(std::cin, line);) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.empty()) continue;
    std::thread(Live, std::string(argv[1]), *token, MakeRegister(words)).detach();
  }
  std::fflush(nullptr);
  std::_Exit(0);
}
