// The agent's end of tunnels, with a master that the test plays. master/tests/tunnels tests both
// ends.
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "agent/link/master_link.h"
#include "base/event_loop.h"
#include "det/agent/v1/agent.grpc.pb.h"
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

namespace det::agent {
namespace {

// Requests a tunnel of each agent that connects, and keeps what the agent sends first.
class Hub final : public v1::AgentHub::Service {
 public:
  explicit Hub(int tunnel_port) : tunnel_port_(tunnel_port) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Hub() override { server_->Shutdown(std::chrono::system_clock::now()); }

  grpc::Status Connect(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<v1::MasterMessage, v1::AgentMessage>* stream) override {
    v1::MasterMessage order;
    order.mutable_open_tunnel()->set_id("secret");
    order.mutable_open_tunnel()->set_port(tunnel_port_);
    stream->Write(order);
    v1::AgentMessage ignored;
    while (stream->Read(&ignored)) {
    }
    return grpc::Status::OK;
  }
  grpc::Status Tunnel(grpc::ServerContext* context,
                      grpc::ServerReaderWriter<v1::TunnelData, v1::TunnelData>* stream) override {
    const auto header = context->client_metadata().find("authorization");
    if (header != context->client_metadata().end()) {
      token_ = std::string(header->second.data(), header->second.size());
    }
    v1::TunnelData message;
    stream->Read(&message);
    first.set_value(message);
    return {grpc::StatusCode::NOT_FOUND, "the test has seen enough"};
  }

  int port() const { return port_; }
  std::string token() const { return token_; }
  std::promise<v1::TunnelData> first;

 private:
  const int tunnel_port_;
  int port_ = 0;
  std::string token_;
  std::unique_ptr<grpc::Server> server_;
};

class Listener final : public LinkListener {
 public:
  Registration OnConnecting() override { return {.agent_id = "a1", .incarnation = "i"}; }
  void OnRegistered(const Registered&) override {}
  void OnOrder(const Event&) override {}
  void OnShutdown(const std::string&) override {}
  void OnDisconnected(const absl::Status&) override {}
};

// Returns the first message of a tunnel to this port.
v1::TunnelData OpenTunnel(int port, std::string* token = nullptr) {
  Hub hub(port);
  const auto loop = base::MakeAsioEventLoop("link");
  Listener listener;
  LinkOptions options;
  options.masters = {{.host = "127.0.0.1", .port = hub.port()}};
  options.agent_id.append("a1");
  options.token.append("the token");
  const auto link = MakeMasterLink(options, loop.get(), &listener);
  loop->Post([&] { link->Connect(); });
  v1::TunnelData first = hub.first.get_future().get();
  loop->Stop();
  link->Close();
  if (token != nullptr) *token = hub.token();
  return first;
}

TEST(TunnelTest, IdentifiesItself) {
  std::string token;
  const v1::TunnelData first = OpenTunnel(0, &token);
  EXPECT_EQ(first.id(), "secret");
  EXPECT_EQ(first.incarnation(), "i");
  EXPECT_EQ(token, "Bearer the token");
}

TEST(TunnelTest, SaysWhyItCannotConnect) {
  EXPECT_EQ(OpenTunnel(0).error(), "0 is not a port");
  EXPECT_EQ(OpenTunnel(65536 + 80).error(), "65616 is not a port");
  // Nobody listens on port 1 (TCPMUX, obsolete).
  EXPECT_EQ(OpenTunnel(1).error(), "nobody listens on port 1");
}

}  // namespace
}  // namespace det::agent
