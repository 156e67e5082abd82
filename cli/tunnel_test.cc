#include "cli/tunnel.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/certificate_authority.h"
#include "base/fd.h"
#include "cli/arguments.h"
#include "cli/testing/fake_server.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>

namespace det::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using asio::ip::tcp;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kService[] = "6f9619ff-8b86-4011-b42d-00c04fc964ff:6000";

using Request = http::request<http::empty_body>;

// Stands in for the proxy of a master: accepts websockets and lets `serve` speak with each on its
// own thread.
template <class Stream>
class WebsocketServer {
 public:
  using Websocket = websocket::stream<Stream>;
  using Serve = std::function<void(Websocket&)>;

  explicit WebsocketServer(Serve serve, asio::ssl::context* tls = nullptr)
      : serve_(std::move(serve)), tls_(tls), acceptor_(io_, {asio::ip::address_v4::loopback(), 0}) {
    thread_ = std::thread([this] { Accept(); });
  }

  ~WebsocketServer() {
    ended_ = true;
    ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
    thread_.join();
    for (std::thread& each : connections_) each.join();
  }

  int port() const { return acceptor_.local_endpoint().port(); }
  std::string url() const {
    return absl::StrCat(tls_ == nullptr ? "http" : "https", "://127.0.0.1:", port());
  }

  // The targets and Authorization headers of the upgrades.
  std::vector<std::string> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

 private:
  void Accept() {
    while (!ended_) {
      beast::error_code error;
      tcp::socket socket(io_);
      acceptor_.accept(socket, error);
      if (error) continue;
      connections_.emplace_back([this, socket = std::move(socket)]() mutable {
        if constexpr (std::is_same_v<Stream, tcp::socket>) {
          Speak(Websocket(std::move(socket)));
        } else {
          Websocket remote(std::move(socket), *tls_);
          beast::error_code refused;
          remote.next_layer().handshake(asio::ssl::stream_base::server, refused);
          if (!refused) Speak(std::move(remote));
        }
      });
    }
  }

  void Speak(Websocket remote) {
    beast::error_code error;
    beast::flat_buffer buffer;
    Request request;
    http::read(remote.next_layer(), buffer, request, error);
    if (error) return;
    {
      const std::lock_guard lock(mutex_);
      seen_.push_back(absl::StrCat(std::string(request.target()), " ",
                                   std::string(request[http::field::authorization])));
    }
    remote.accept(request, error);
    remote.binary(true);
    if (!error) serve_(remote);
  }

  const Serve serve_;
  asio::ssl::context* const tls_;
  asio::io_context io_;
  tcp::acceptor acceptor_;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
  std::mutex mutex_;
  std::vector<std::string> seen_;
  std::vector<std::thread> connections_;
};

using PlainServer = WebsocketServer<tcp::socket>;
using TlsServer = WebsocketServer<asio::ssl::stream<tcp::socket>>;

// Sends every message back, also the empty one that ends a direction.
template <class Websocket>
void Echo(Websocket& remote) {
  beast::error_code error;
  while (true) {
    beast::flat_buffer buffer;
    remote.read(buffer, error);
    if (error) return;
    remote.write(buffer.data(), error);
  }
}

TunnelTarget Target(const std::string& url) { return {url, kService, "", {}}; }

// Two pipes: what the tunnel reads, and what it writes.
class Pipes {
 public:
  Pipes() {
    int fds[2];
    EXPECT_EQ(::pipe2(fds, O_CLOEXEC), 0);
    in_ = base::Fd(fds[0]);
    input_ = base::Fd(fds[1]);
    EXPECT_EQ(::pipe2(fds, O_CLOEXEC), 0);
    output_ = base::Fd(fds[0]);
    out_ = base::Fd(fds[1]);
  }

  void Write(const std::string& text) {
    EXPECT_EQ(::write(input_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void EndInput() { input_.Close(); }
  void CloseOutput() { output_.Close(); }
  std::string Read(size_t size) {
    std::string text;
    char piece[4096];
    while (text.size() < size) {
      const ssize_t got = ::read(output_.get(), piece, std::min(sizeof(piece), size - text.size()));
      if (got <= 0) break;
      text.append(piece, static_cast<size_t>(got));
    }
    return text;
  }

  int in() const { return in_.get(); }
  int out() const { return out_.get(); }
  // Closes the tunnel's ends, as the end of its process does.
  void CloseInner() {
    in_.Close();
    out_.Close();
  }

 private:
  base::Fd in_, out_, input_, output_;
};

std::string MakeBytes(size_t size) {
  std::string bytes(size, 0);
  unsigned state = 1;
  for (char& each : bytes) each = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

base::Fd Connect(int port) {
  base::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

void WriteAll(int fd, const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t wrote = ::send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    ASSERT_GT(wrote, 0);
    at += static_cast<size_t>(wrote);
  }
}

std::string ReadAll(int fd) {
  std::string bytes;
  std::vector<char> piece(1 << 16);
  ssize_t got = 0;
  while ((got = ::read(fd, piece.data(), piece.size())) > 0) {
    bytes.append(piece.data(), static_cast<size_t>(got));
  }
  return bytes;
}

// A listener that serves on its own thread.
class Listening {
 public:
  explicit Listening(TunnelTarget target)
      : target_(std::move(target)), listener_(*TunnelListener::Open("127.0.0.1", 0)) {
    thread_ = std::thread([this] {
      const absl::Status served = listener_.Serve(target_, [this](const absl::Status& status) {
        errors.push_back(std::string(status.message()));
      });
      EXPECT_TRUE(served.ok()) << served;
    });
  }
  ~Listening() { Stop(); }

  int port() const { return listener_.port(); }
  void Stop() {
    listener_.Stop();
    if (thread_.joinable()) thread_.join();
  }

  std::vector<std::string> errors;  // read after Stop()

 private:
  const TunnelTarget target_;
  TunnelListener listener_;
  std::thread thread_;
};

TEST(RelayDescriptorsTest, RelaysBothWaysAndSendsToken) {
  PlainServer server(Echo<PlainServer::Websocket>);
  Pipes pipes;
  TunnelTarget target = Target(server.url());
  target.token = "secret";
  std::thread tunnel([&] {
    const absl::Status status = RelayDescriptors(target, pipes.in(), pipes.out());
    EXPECT_TRUE(status.ok()) << status;
  });
  pipes.Write("hello");
  EXPECT_EQ(pipes.Read(5), "hello");
  pipes.EndInput();
  tunnel.join();
  EXPECT_THAT(server.seen(), ElementsAre(absl::StrCat("/proxy/", kService, "/ Bearer secret")));
  EXPECT_EQ(::fcntl(pipes.in(), F_GETFL) & O_NONBLOCK, 0) << "others share the descriptor";
}

TEST(RelayDescriptorsTest, DeliversWhatServiceSendsAfterEndOfInput) {
  PlainServer server([](PlainServer::Websocket& remote) {
    std::string all;
    beast::error_code error;
    while (true) {  // A service that answers only at the end of its input, such as wc.
      beast::flat_buffer buffer;
      remote.read(buffer, error);
      ASSERT_FALSE(error) << error.message();
      if (buffer.size() == 0) break;
      all += beast::buffers_to_string(buffer.data());
    }
    remote.write(asio::buffer(absl::StrCat(all.size(), " bytes")), error);
    remote.close(websocket::close_code::normal, error);
  });
  Pipes pipes;
  pipes.Write("hello");
  pipes.EndInput();
  const absl::Status status = RelayDescriptors(Target(server.url()), pipes.in(), pipes.out());
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(pipes.Read(7), "5 bytes");
}

TEST(RelayDescriptorsTest, EndsWithService) {
  PlainServer server([](PlainServer::Websocket& remote) {
    beast::error_code error;
    remote.write(asio::buffer("bye", 3), error);
    remote.close(websocket::close_code::normal, error);
  });
  Pipes pipes;
  const absl::Status status = RelayDescriptors(Target(server.url()), pipes.in(), pipes.out());
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(pipes.Read(3), "bye");
}

// ssh closes both pipes of its ProxyCommand when it ends.
TEST(RelayDescriptorsTest, ClosesWebsocket_WhenReaderIsGone) {
  std::atomic<bool> closed = false;
  PlainServer server([&](PlainServer::Websocket& remote) {
    beast::error_code error;
    while (!error) {
      beast::flat_buffer buffer;
      remote.read(buffer, error);
    }
    closed = error == websocket::error::closed && remote.reason().code == 1000;
  });
  Pipes pipes;
  pipes.EndInput();
  pipes.CloseOutput();
  const absl::Status status = RelayDescriptors(Target(server.url()), pipes.in(), pipes.out());
  EXPECT_TRUE(status.ok()) << status;
  while (!closed) std::this_thread::yield();
}

TEST(RelayDescriptorsTest, ReportsErrorOfMaster) {
  Pipes pipes;
  const std::pair<const char*, absl::StatusCode> kAnswers[] = {
      {"404 Not Found", absl::StatusCode::kNotFound},
      {"401 Unauthorized", absl::StatusCode::kUnauthenticated},
      {"410 Gone", absl::StatusCode::kNotFound},
      {"502 Bad Gateway", absl::StatusCode::kUnavailable},
  };
  for (const auto& [http, code] : kAnswers) {
    FakeServer server({Answer(http, R"({"message":"port 6000 has no listener"})")});
    const absl::Status status = RelayDescriptors(Target(server.url()), pipes.in(), pipes.out());
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_EQ(status.message(), "port 6000 has no listener");
  }
  FakeServer page({"HTTP/1.1 303 See Other\r\nLocation: /det/login\r\nContent-Length: 0\r\n\r\n"});
  EXPECT_TRUE(
      absl::IsUnauthenticated(RelayDescriptors(Target(page.url()), pipes.in(), pipes.out())));
}

TEST(RelayDescriptorsTest, ReportsLostAndMissingConnection) {
  Pipes pipes;
  PlainServer server([](PlainServer::Websocket& remote) { remote.next_layer().close(); });
  const absl::Status lost = RelayDescriptors(Target(server.url()), pipes.in(), pipes.out());
  EXPECT_TRUE(absl::IsAborted(lost)) << lost;
  EXPECT_THAT(std::string(lost.message()), HasSubstr("was lost"));
  const absl::Status none = RelayDescriptors(Target("http://127.0.0.1:1"), pipes.in(), pipes.out());
  EXPECT_TRUE(absl::IsUnavailable(none)) << none;
  EXPECT_EQ(
      none.message(),
      "cannot reach the master at http://127.0.0.1:1 (connection refused); check its address");
}

TEST(RelayDescriptorsTest, ReportsReason_WhenMasterClosesWithError) {
  PlainServer server([](PlainServer::Websocket& remote) {
    beast::error_code error;
    remote.close({websocket::close_code::internal_error, "agent a was lost"}, error);
  });
  Pipes pipes;
  const absl::Status status = RelayDescriptors(Target(server.url()), pipes.in(), pipes.out());
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(status.message(), "agent a was lost");
}

TEST(RelayDescriptorsTest, VerifiesCertificate) {
  const absl::Time now = absl::Now();
  const auto authority =
      base::MakeCertificateAuthority("test", now - absl::Hours(1), now + absl::Hours(1));
  const auto own = base::SignCertificate(*authority, {.name = "master",
                                                      .hosts = {"127.0.0.1"},
                                                      .from = now - absl::Hours(1),
                                                      .until = now + absl::Hours(1)});
  ASSERT_TRUE(own.ok()) << own.status();
  asio::ssl::context keys(asio::ssl::context::tls_server);
  keys.use_certificate_chain(asio::buffer(own->certificate));
  keys.use_private_key(asio::buffer(own->key), asio::ssl::context::pem);
  TlsServer server(Echo<TlsServer::Websocket>, &keys);
  Pipes pipes;
  const absl::Status refused = RelayDescriptors(Target(server.url()), pipes.in(), pipes.out());
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("is not trusted"));
  TunnelTarget target = Target(server.url());
  target.trust.certificates = authority->certificate;
  pipes.Write("hello");
  std::thread tunnel([&] {
    const absl::Status status = RelayDescriptors(target, pipes.in(), pipes.out());
    EXPECT_TRUE(status.ok()) << status;
  });
  EXPECT_EQ(pipes.Read(5), "hello");
  pipes.EndInput();
  tunnel.join();
}

TEST(TunnelListenerTest, RelaysTenMebibytesOfSeveralConnections) {
  PlainServer server(Echo<PlainServer::Websocket>);
  Listening listening(Target(server.url()));
  const std::string sent = MakeBytes(10 << 20);
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back([&] {
      const base::Fd fd = Connect(listening.port());
      std::thread writer([&] {
        WriteAll(fd.get(), sent);
        ::shutdown(fd.get(), SHUT_WR);
      });
      EXPECT_TRUE(ReadAll(fd.get()) == sent);
      writer.join();
    });
  }
  for (std::thread& each : clients) each.join();
  EXPECT_EQ(server.seen().size(), 3u);
}

TEST(TunnelListenerTest, ContinuesAfterFailedConnection) {
  FakeServer server({Answer("404 Not Found", R"({"message":"no task"})"),
                     Answer("404 Not Found", R"({"message":"no task"})")});
  Listening listening(Target(server.url()));
  for (int i = 0; i < 2; ++i) {
    const base::Fd fd = Connect(listening.port());
    EXPECT_EQ(ReadAll(fd.get()), "");
  }
  listening.Stop();
  EXPECT_THAT(listening.errors, ElementsAre("no task", "no task"));
}

TEST(TunnelListenerTest, NamesAddress_WhenItIsInUse) {
  const auto first = TunnelListener::Open("127.0.0.1", 0);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = TunnelListener::Open("127.0.0.1", first->port());
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr(absl::StrCat("cannot listen on 127.0.0.1:", first->port())));
  EXPECT_TRUE(IsUsageError(TunnelListener::Open("localhost", 0).status()));
}

TEST(CheckServiceTest, AcceptsTasksAndPorts) {
  EXPECT_TRUE(CheckService(kService).ok());
  EXPECT_TRUE(CheckService("12.6f9619ff:8000").ok());
  for (const char* wrong : {"", "a/b", "a?b", "..", "a b", "a%2f"}) {
    EXPECT_TRUE(IsUsageError(CheckService(wrong))) << wrong;
  }
}

}  // namespace
}  // namespace det::cli
