// Tunnels between the hub of a master and the link of an agent, over a real connection; and a hub
// with agents that the test plays.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "agent/link/master_link.h"
#include "base/clock.h"
#include "base/event_loop.h"
#include "base/fd.h"
#include "base/thread_pool.h"
#include "det/agent/v1/agent.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/agents/agent_hub.h"
#include "master/auth/authenticator.h"
#include "master/auth/tokens.h"
#include "master/engine/engine.h"
#include "master/proxy/task_dialer.h"
#include "master/store/testing/fake_store.h"
#include <grpcpp/grpcpp.h>

namespace det::tests {
namespace {

namespace wire = det::agent::v1;
using ::testing::HasSubstr;

// ---- sockets ----

void SetBlocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK); }

void SendAll(int fd, const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t result = ::send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (result <= 0) return;
    sent += static_cast<size_t>(result);
  }
}

// Returns `size` bytes, or less if the peer has ended.
std::string Receive(int fd, size_t size) {
  std::string bytes(size, '\0');
  size_t got = 0;
  while (got < size) {
    const ssize_t result = ::recv(fd, bytes.data() + got, size - got, 0);
    if (result <= 0) break;
    got += static_cast<size_t>(result);
  }
  bytes.resize(got);
  return bytes;
}

bool HasEnded(int fd) { return Receive(fd, 1).empty(); }

// A program that listens on the loopback interface.
class Target {
 public:
  Target() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_.get(), any, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 1000), 0);
    EXPECT_EQ(::getsockname(listener_.get(), any, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  int port() const { return port_; }
  base::Fd Accept() { return base::Fd(::accept(listener_.get(), nullptr, nullptr)); }
  // Nobody listens on the port any more.
  void Close() { listener_.Close(); }

 private:
  base::Fd listener_;
  int port_ = 0;
};

// ---- the master ----

class Master {
 public:
  explicit Master(agents::HubOptions options = {}) {
    EXPECT_TRUE(store_.access()
                    .PutSession({.token_hash = auth::HashToken("agent"),
                                 .kind = store::SessionRecord::Kind::kAgent})
                    .ok());
    options.cluster_id.append("c");
    options.version.append("1.2.0");
    hub_ = std::make_unique<agents::AgentHub>(std::move(options),
                                              agents::HubDeps{.store = &store_,
                                                              .authenticator = &authenticator_,
                                                              .pool = &pool_,
                                                              .loop = loop_.get()});
    engine_ = std::make_unique<engine::Engine>(
        cluster::Settings{.cluster_id = "c"}, &store_, loop_.get(),
        engine::Sinks{.agents = hub_.get()}, [](const absl::Status& status) { FAIL() << status; });
    hub_->SetEngine(engine_.get());
    EXPECT_TRUE(engine_->Start().ok());
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(hub_->service());
    server_ = builder.BuildAndStart();
  }
  ~Master() {
    hub_->Stop();
    server_->Shutdown(std::chrono::system_clock::now());
    engine_->Stop();
    pool_.Stop();
    loop_->Stop();
  }

  int port() const { return port_; }
  agents::AgentHub& hub() { return *hub_; }
  std::unique_ptr<wire::AgentHub::Stub> Connect() {
    return wire::AgentHub::NewStub(
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", port_), grpc::InsecureChannelCredentials()));
  }

  std::future<absl::StatusOr<base::Fd>> StartDial(
      int port, const std::string& agent = "a1",
      proxy::Interface interface = proxy::Interface::kAny) {
    auto promise = std::make_shared<std::promise<absl::StatusOr<base::Fd>>>();
    std::future<absl::StatusOr<base::Fd>> reply = promise->get_future();
    proxy::TaskDialer& dialer = *hub_;
    dialer.Dial(model::AgentId(agent), port, interface, [promise](absl::StatusOr<base::Fd> socket) {
      promise->set_value(std::move(socket));
    });
    return reply;
  }
  absl::StatusOr<base::Fd> Dial(int port, const std::string& agent = "a1") {
    absl::StatusOr<base::Fd> socket = StartDial(port, agent).get();
    if (!socket.ok()) return socket;
    EXPECT_NE(::fcntl(socket->get(), F_GETFL) & O_NONBLOCK, 0);
    SetBlocking(socket->get());
    return socket;
  }

 private:
  store::FakeStore store_{store::MakeFakeDatabase()};
  base::RealClock clock_;
  auth::Authenticator authenticator_{&store_, &clock_, auth::AllocationTokens("secret")};
  std::unique_ptr<base::EventLoop> loop_ = base::MakeAsioEventLoop("cluster");
  base::ThreadPool pool_{2};
  std::unique_ptr<agents::AgentHub> hub_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

// ---- agents ----

// The link of a real agent.
class Agent final : private agent::LinkListener {
 public:
  explicit Agent(const Master& master) {
    agent::LinkOptions options;
    options.masters = {{.host = "127.0.0.1", .port = master.port()}};
    options.agent_id.append("a1");
    options.token.append("agent");
    link_ = agent::MakeMasterLink(options, loop_.get(), this);
    loop_->Post([this] { link_->Connect(); });
    registered_.get_future().wait();
  }
  ~Agent() override {
    loop_->Stop();
    link_->Close();
  }

 private:
  agent::Registration OnConnecting() override {
    return {.agent_id = "a1", .version = "1.2.0", .incarnation = "one"};
  }
  void OnRegistered(const agent::Registered&) override {
    if (!std::exchange(was_registered_, true)) registered_.set_value();
  }
  void OnOrder(const agent::Event&) override {}
  void OnShutdown(const std::string& reason) override { FAIL() << reason; }
  void OnDisconnected(const absl::Status&) override {}

  const std::unique_ptr<base::EventLoop> loop_ = base::MakeAsioEventLoop("link");
  std::unique_ptr<agent::MasterLink> link_;
  std::promise<void> registered_;
  bool was_registered_ = false;
};

struct CallContext : grpc::ClientContext {
  CallContext() { AddMetadata("authorization", "Bearer agent"); }
};

// An agent whose messages the test sends.
class PlayedAgent {
 public:
  PlayedAgent(Master& master, const std::string& id, const std::string& machine = "",
              const std::string& address = "")
      : stub_(master.Connect()), stream_(stub_->Connect(&context_)) {
    wire::AgentMessage message;
    wire::Register& registration = *message.mutable_register_();
    registration.set_agent_id(id);
    registration.set_version("1.2.0");
    registration.set_incarnation("incarnation of " + id);
    registration.set_machine_id(machine);
    registration.set_address(address);
    stream_->Write(message);
    EXPECT_TRUE(Next().has_registered());
  }
  ~PlayedAgent() { Disconnect(); }

  wire::MasterMessage Next() {
    wire::MasterMessage message;
    stream_->Read(&message);
    return message;
  }
  void Disconnect() {
    if (stream_ == nullptr) return;
    context_.TryCancel();
    (void)stream_->Finish();
    stream_.reset();
  }
  wire::AgentHub::Stub& stub() { return *stub_; }

 private:
  CallContext context_;
  std::unique_ptr<wire::AgentHub::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<wire::AgentMessage, wire::MasterMessage>> stream_;
};

wire::TunnelData FirstMessage(const wire::MasterMessage& order, const std::string& agent) {
  wire::TunnelData first;
  first.set_id(order.open_tunnel().id());
  first.set_incarnation("incarnation of " + agent);
  return first;
}

// Opens a tunnel that is expected to be refused.
grpc::Status TryTunnel(PlayedAgent& agent, const wire::TunnelData& first) {
  CallContext context;
  const auto stream = agent.stub().Tunnel(&context);
  stream->Write(first);
  return stream->Finish();
}

// ---- both ----

class TunnelTest : public testing::Test {
 protected:
  // Connects to the target.
  std::pair<base::Fd, base::Fd> Open() {
    absl::StatusOr<base::Fd> client = master_.Dial(target_.port());
    EXPECT_TRUE(client.ok()) << client.status();
    return {client.ok() ? *std::move(client) : base::Fd(), target_.Accept()};
  }

  Master master_;
  Target target_;
  std::optional<Agent> agent_{std::in_place, master_};
};

TEST_F(TunnelTest, CarriesBytesUnchangedInBothDirections) {
  const auto [client, target] = Open();
  std::string bytes(10 << 20, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 2654435761u >> 13);
  std::thread echo([&, fd = target.get()] {
    std::array<char, 10'000> piece;
    while (true) {
      const ssize_t got = ::recv(fd, piece.data(), piece.size(), 0);
      if (got <= 0) break;
      SendAll(fd, std::string(piece.data(), static_cast<size_t>(got)));
    }
    ::shutdown(fd, SHUT_WR);
  });
  std::thread send([&, fd = client.get()] {
    SendAll(fd, bytes);
    ::shutdown(fd, SHUT_WR);
  });
  EXPECT_TRUE(Receive(client.get(), bytes.size()) == bytes);
  EXPECT_TRUE(HasEnded(client.get()));
  send.join();
  echo.join();
}

TEST_F(TunnelTest, EndsTheClient_WhenTheTargetCloses) {
  auto [client, target] = Open();
  SendAll(target.get(), "bye");
  target.Close();
  EXPECT_EQ(Receive(client.get(), 3), "bye");
  EXPECT_TRUE(HasEnded(client.get()));
}

TEST_F(TunnelTest, EndsTheTarget_WhenTheClientCloses) {
  auto [client, target] = Open();
  SendAll(client.get(), "bye");
  client.Close();
  EXPECT_EQ(Receive(target.get(), 3), "bye");
  EXPECT_TRUE(HasEnded(target.get()));
}

TEST_F(TunnelTest, EndsTheTarget_WhenTheClientClosesWhileItReceives) {
  auto [client, target] = Open();
  std::thread send([fd = target.get()] {
    const std::string piece(100'000, 'x');
    while (::send(fd, piece.data(), piece.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  EXPECT_EQ(Receive(client.get(), 1 << 20).size(), size_t{1} << 20);
  client.Close();
  send.join();
}

TEST_F(TunnelTest, CarriesBytes_AfterTheOtherDirectionHasEnded) {
  const auto [client, target] = Open();
  ::shutdown(target.get(), SHUT_WR);
  EXPECT_TRUE(HasEnded(client.get()));
  SendAll(client.get(), "still here");
  EXPECT_EQ(Receive(target.get(), 10), "still here");
  ::shutdown(client.get(), SHUT_WR);
  EXPECT_TRUE(HasEnded(target.get()));
}

TEST_F(TunnelTest, SaysThatNobodyListens) {
  target_.Close();
  const absl::Status refused = master_.Dial(target_.port()).status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_EQ(refused.message(), absl::StrCat("agent a1: nobody listens on port ", target_.port()));
}

TEST_F(TunnelTest, BreaksTunnels_WhenTheAgentDisconnects) {
  const auto [client, target] = Open();
  std::thread send([fd = target.get()] {
    const std::string piece(100'000, 'x');
    while (::send(fd, piece.data(), piece.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  EXPECT_EQ(Receive(client.get(), 1 << 20).size(), size_t{1} << 20);
  agent_.reset();
  send.join();
  while (!HasEnded(client.get())) {
  }
  // The agent returns, and new tunnels work.
  agent_.emplace(master_);
  const auto [again, answer] = Open();
  SendAll(again.get(), "hello");
  EXPECT_EQ(Receive(answer.get(), 5), "hello");
}

TEST_F(TunnelTest, BreaksTunnels_WhenTheMasterLosesTheLease) {
  const auto [client, target] = Open();
  master_.hub().SetLeading(false);
  EXPECT_TRUE(HasEnded(client.get()));
  EXPECT_TRUE(HasEnded(target.get()));
  EXPECT_TRUE(absl::IsUnavailable(master_.Dial(target_.port()).status()));
}

TEST_F(TunnelTest, CarriesManyTunnelsAtOnce) {
  std::vector<std::future<absl::StatusOr<base::Fd>>> dials;
  for (int i = 0; i < 200; ++i) dials.push_back(master_.StartDial(target_.port()));
  std::vector<base::Fd> clients;
  std::vector<base::Fd> targets;
  for (auto& dial : dials) {
    absl::StatusOr<base::Fd> client = dial.get();
    ASSERT_TRUE(client.ok()) << client.status();
    SetBlocking(client->get());
    clients.push_back(*std::move(client));
    targets.push_back(target_.Accept());
  }
  for (size_t i = 0; i < clients.size(); ++i) SendAll(clients[i].get(), absl::StrCat(1000 + i));
  // The target accepts the connections in any order.
  std::vector<std::string> received;
  for (const base::Fd& target : targets) {
    received.push_back(Receive(target.get(), 4));
    SendAll(target.get(), received.back());
  }
  for (size_t i = 0; i < clients.size(); ++i) {
    EXPECT_EQ(Receive(clients[i].get(), 4), absl::StrCat(1000 + i));
  }
}

// How many bytes the sender can send before nobody has taken any for a while. On a slow machine
// that may be fewer than the buffers hold, never more.
size_t FillBuffers(int sender, size_t most) {
  const std::string piece(100'000, 'x');
  size_t sent = 0;
  pollfd writable = {.fd = sender, .events = POLLOUT, .revents = 0};
  while (sent < most && ::poll(&writable, 1, 500) == 1) {
    const ssize_t result = ::send(sender, piece.data(), piece.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (result > 0) sent += static_cast<size_t>(result);
  }
  return sent;
}

TEST_F(TunnelTest, BuffersLittle_WhenAReaderIsSlow) {
  const auto [client, target] = Open();
  constexpr size_t kMost = size_t{64} << 20;
  for (const auto& [from, to] :
       {std::pair(target.get(), client.get()), std::pair(client.get(), target.get())}) {
    const size_t sent = FillBuffers(from, kMost);
    EXPECT_LT(sent, kMost);
    // Another tunnel is not affected.
    const auto [other, answer] = Open();
    SendAll(other.get(), "hello");
    EXPECT_EQ(Receive(answer.get(), 5), "hello");
    EXPECT_EQ(Receive(to, sent).size(), sent);
  }
}

TEST_F(TunnelTest, RejectsInvalidPorts) {
  for (const int port : {-1, 0, 65536}) {
    EXPECT_TRUE(absl::IsInvalidArgument(master_.Dial(port).status())) << port;
  }
}

// ---- the hub, with played agents ----

TEST(TaskTunnelsTest, GivesATunnelOnlyToItsAgentAndOnce) {
  Master master;
  PlayedAgent agent(master, "a1");
  PlayedAgent other(master, "a2");
  auto dial = master.StartDial(8888);
  const wire::MasterMessage order = agent.Next();
  EXPECT_EQ(order.open_tunnel().port(), 8888);
  EXPECT_GE(order.open_tunnel().id().size(), 32u);
  EXPECT_EQ(TryTunnel(other, FirstMessage(order, "a2")).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(TryTunnel(agent, {}).error_code(), grpc::StatusCode::NOT_FOUND);

  CallContext context;
  const auto stream = agent.stub().Tunnel(&context);
  const wire::TunnelData first = FirstMessage(order, "a1");
  stream->Write(first);
  const absl::StatusOr<base::Fd> client = dial.get();
  ASSERT_TRUE(client.ok()) << client.status();
  SendAll(client->get(), "ping");
  wire::TunnelData message;
  ASSERT_TRUE(stream->Read(&message));
  EXPECT_EQ(message.data(), "ping");
  EXPECT_EQ(TryTunnel(agent, first).error_code(), grpc::StatusCode::NOT_FOUND);

  // The call ends once both directions have ended.
  ::shutdown(client->get(), SHUT_WR);
  ASSERT_TRUE(stream->Read(&message));
  EXPECT_TRUE(message.end());
  message.Clear();
  message.set_end(true);
  stream->Write(message);
  EXPECT_TRUE(stream->Finish().ok());
}

TEST(TaskTunnelsTest, RepliesWithTheReasonOfTheAgent) {
  Master master;
  PlayedAgent agent(master, "a1");
  auto dial = master.StartDial(8888);
  wire::TunnelData first = FirstMessage(agent.Next(), "a1");
  first.set_error("the port is on fire");
  EXPECT_TRUE(TryTunnel(agent, first).ok());
  EXPECT_EQ(dial.get().status(), absl::UnavailableError("agent a1: the port is on fire"));
}

TEST(TaskTunnelsTest, Fails_WhenTheAgentDoesNotOpenTheTunnel) {
  Master master({.tunnel_timeout = absl::Milliseconds(1)});
  PlayedAgent agent(master, "a1");
  auto dial = master.StartDial(8888);
  const absl::Status late = dial.get().status();
  EXPECT_TRUE(absl::IsUnavailable(late)) << late;
  EXPECT_THAT(late.message(), HasSubstr("agent a1 has not connected to port 8888"));
  EXPECT_EQ(TryTunnel(agent, FirstMessage(agent.Next(), "a1")).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST(TaskTunnelsTest, Fails_WhenTheAgentIsNotConnected) {
  Master master;
  const absl::Status unknown = master.Dial(8888).status();
  EXPECT_TRUE(absl::IsUnavailable(unknown)) << unknown;
  EXPECT_THAT(unknown.message(), HasSubstr("agent a1 is not connected"));
  PlayedAgent agent(master, "a1");
  auto dial = master.StartDial(8888);
  EXPECT_TRUE(agent.Next().has_open_tunnel());
  agent.Disconnect();
  EXPECT_EQ(dial.get().status(), absl::UnavailableError("agent a1 has disconnected; retry"));
}

TEST(TaskTunnelsTest, Fails_WhenTheMasterStops) {
  auto master = std::make_unique<Master>();
  PlayedAgent agent(*master, "a1");
  auto dial = master->StartDial(8888);
  EXPECT_TRUE(agent.Next().has_open_tunnel());
  master->hub().Stop();
  // The agent's connection may end first, which is another reason.
  EXPECT_TRUE(absl::IsUnavailable(dial.get().status()));
  EXPECT_TRUE(absl::IsUnavailable(master->Dial(8888).status()));
  EXPECT_EQ(TryTunnel(agent, {}).error_code(), grpc::StatusCode::UNAVAILABLE);
}

// Whether the socket is of a TCP connection, not of a tunnel.
bool IsTcp(const base::Fd& socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return address.ss_family == AF_INET;
}

TEST(TaskTunnelsTest, ConnectsDirectly_WhenTheAgentIsOnTheSameMachine) {
  Master master({.machine_id = "m"});
  Target target;
  PlayedAgent agent(master, "a1", "m");
  const absl::StatusOr<base::Fd> client = master.Dial(target.port());
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_TRUE(IsTcp(*client));
  SendAll(client->get(), "hello");
  EXPECT_EQ(Receive(target.Accept().get(), 5), "hello");
  target.Close();
  EXPECT_EQ(
      master.Dial(target.port()).status(),
      absl::UnavailableError(absl::StrCat("agent a1: nobody listens on port ", target.port())));
  // An agent of another machine, and one that does not know its machine, get a tunnel.
  for (const char* const machine : {"n", ""}) {
    PlayedAgent other(master, "a2", machine);
    auto dial = master.StartDial(target.port(), "a2");
    EXPECT_TRUE(other.Next().has_open_tunnel());
    other.Disconnect();
    EXPECT_FALSE(dial.get().ok());
  }
}

TEST(TaskTunnelsTest, ConnectsToTheAddressOrElseByTunnel_WhenDirectIsConfigured) {
  Master master({.direct_proxy = true});
  Target target;
  PlayedAgent agent(master, "a1", "", "127.0.0.1");
  const absl::StatusOr<base::Fd> client = master.Dial(target.port());
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_TRUE(IsTcp(*client));
  // Who listens at the address on the port of a service is another program.
  auto service = master.StartDial(target.port(), "a1", proxy::Interface::kLoopback);
  EXPECT_TRUE(agent.Next().has_open_tunnel());
  target.Close();
  auto dial = master.StartDial(target.port());
  EXPECT_TRUE(agent.Next().has_open_tunnel());
  agent.Disconnect();
  EXPECT_FALSE(dial.get().ok());
}

}  // namespace
}  // namespace det::tests
