#include "cli/tunnel.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "cli/api_client.h"
#include "cli/arguments.h"
#include "cli/interrupt.h"
#include "cli/tls_verifier.h"
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>

namespace det::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using asio::ip::tcp;
using asio::posix::stream_descriptor;
using boost::system::error_code;
using namespace asio::experimental::awaitable_operators;  // NOLINT: for && and ||

constexpr size_t kPiece = 64 << 10;
constexpr auto kConnectTimeout = std::chrono::seconds(10);
// How long the service may be silent after the local end has sent everything. A client that has
// closed its connection looks the same as one that still reads.
constexpr auto kSilenceLimit = std::chrono::minutes(1);
// Seconds until a dead connection is probed.
constexpr int kKeepAliveIdle = 60;

// Completion token that stores the error instead of throwing.
auto Catch(error_code& error) { return asio::redirect_error(asio::use_awaitable, error); }

struct Address {
  bool tls = false;
  std::string authority;  // host and port
  std::string host;
  std::string port;
};

Address ParseUrl(const std::string& url) {
  Address address;
  address.tls = absl::StartsWith(url, "https://");
  address.authority = url.substr(url.find("://") + 3);
  const size_t colon = address.authority.rfind(':');
  address.port = address.authority.substr(colon + 1);
  absl::string_view host = absl::string_view(address.authority).substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  address.host = std::string(host);
  return address;
}

absl::Status UnreachableError(const std::string& url, const error_code& error) {
  return absl::UnavailableError(absl::StrCat("cannot reach the master at ", url, " (",
                                             absl::AsciiStrToLower(error.message()),
                                             "); check its address"));
}

absl::Status LostError(const std::string& url, const error_code& error) {
  return absl::AbortedError(absl::StrCat("the connection to the master at ", url, " was lost (",
                                         absl::AsciiStrToLower(error.message()), ")"));
}

// Nothing more is written to the local end.
void EndOutput(tcp::socket& socket) {
  error_code ignored;
  socket.shutdown(tcp::socket::shutdown_send, ignored);
}
void EndOutput(stream_descriptor& out) {
  error_code ignored;
  out.close(ignored);
}

void KeepAlive(tcp::socket& socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_KEEPIDLE, &kKeepAliveIdle,
               sizeof(kKeepAliveIdle));
}

// Relays between an open websocket and the local end, whose `in` and `out` can be one socket.
template <class Websocket, class Local>
class Relay {
 public:
  Relay(Websocket& remote, Local& in, Local& out)
      : remote_(remote), in_(in), out_(out), silence_(in.get_executor()) {}

  // Returns the error with which the websocket ended; no error at its regular end.
  asio::awaitable<error_code> Run() {
    co_await (Send() && Receive());
    co_return end_;
  }

 private:
  asio::awaitable<void> Send() {
    std::vector<char> piece(kPiece);
    error_code error;
    while (!ended_) {
      const size_t got = co_await in_.async_read_some(asio::buffer(piece), Catch(error));
      if (error) break;
      co_await remote_.async_write(asio::buffer(piece.data(), got), Catch(error));
      if (error) co_return;  // Receive() fails, too.
    }
    if (error == asio::error::eof && !ended_) {
      // An empty message means that nothing follows.
      co_await remote_.async_write(asio::const_buffer(), Catch(error));
      co_await (WaitForSilence() || WaitForReader());
    }
    co_await Close();
  }

  asio::awaitable<void> Receive() {
    std::vector<char> piece(kPiece);
    size_t size = 0;  // of the message so far
    error_code error;
    while (true) {
      const size_t got = co_await remote_.async_read_some(asio::buffer(piece), Catch(error));
      if (error) break;
      if (!remote_.got_binary()) continue;
      size += got;
      received_ += got;
      error_code local;
      if (got > 0) co_await asio::async_write(out_, asio::buffer(piece.data(), got), Catch(local));
      if (local) {  // The reader is gone.
        co_await Close();
        break;
      }
      if (!remote_.is_message_done()) continue;
      if (size == 0) {
        EndOutput(out_);
        output_ended_ = true;
        silence_.cancel();
      }
      size = 0;
    }
    if (!closing_ && error != websocket::error::closed) end_ = error;
    End();
  }

  // Waits until the service has sent everything, or nothing for kSilenceLimit.
  asio::awaitable<void> WaitForSilence() {
    error_code ignored;
    for (size_t before = received_ + 1; !ended_ && !output_ended_ && before != received_;) {
      before = received_;
      silence_.expires_after(kSilenceLimit);
      co_await silence_.async_wait(Catch(ignored));
    }
  }

  // Waits until nobody reads what is written to the local end.
  asio::awaitable<void> WaitForReader() {
    error_code error;
    co_await out_.async_wait(Local::wait_error, Catch(error));
    if (!error) co_return;
    // A file cannot be waited for; it has no reader that could end.
    asio::steady_timer never(in_.get_executor(), asio::steady_timer::time_point::max());
    co_await never.async_wait(Catch(error));
  }

  asio::awaitable<void> Close() {
    if (ended_ || closing_) co_return;
    closing_ = true;
    error_code ignored;
    co_await remote_.async_close(websocket::close_code::normal, Catch(ignored));
  }

  // Ends the waits of Send().
  void End() {
    ended_ = true;
    error_code ignored;
    silence_.cancel();
    if (in_.is_open()) in_.cancel(ignored);
    if (out_.is_open()) out_.cancel(ignored);
    beast::get_lowest_layer(remote_).close();
  }

  Websocket& remote_;
  Local& in_;
  Local& out_;
  asio::steady_timer silence_;
  size_t received_ = 0;
  bool output_ended_ = false;  // the service has sent everything
  bool closing_ = false;
  bool ended_ = false;
  error_code end_;
};

// Upgrades the connection to a websocket and relays.
template <class Stream, class Local>
asio::awaitable<absl::Status> Upgrade(const TunnelTarget& target, const Address& address,
                                      Stream stream, Local& in, Local& out) {
  websocket::stream<Stream> remote(std::move(stream));
  beast::get_lowest_layer(remote).expires_never();
  remote.set_option(websocket::stream_base::timeout::suggested(beast::role_type::client));
  remote.set_option(websocket::stream_base::decorator([&](websocket::request_type& request) {
    request.set(beast::http::field::user_agent, "det");
    if (target.token.empty()) return;
    request.set(beast::http::field::authorization, absl::StrCat("Bearer ", target.token));
  }));
  remote.binary(true);
  remote.auto_fragment(false);
  remote.read_message_max(0);  // no limit
  remote.write_buffer_bytes(kPiece);
  websocket::response_type response;
  error_code error;
  const std::string path = absl::StrCat("/proxy/", target.service, "/");
  co_await remote.async_handshake(response, address.authority, path, Catch(error));
  if (error == websocket::error::upgrade_declined) {
    const int http = static_cast<int>(response.result_int());
    if (http / 100 == 3) {  // The master sends browsers to the page that signs in.
      co_return absl::UnauthenticatedError("not signed in");
    }
    co_return GetResponseError(target.url, http, response.body());
  }
  if (error) co_return LostError(target.url, error);
  Relay relay(remote, in, out);
  const error_code end = co_await relay.Run();
  if (end) co_return LostError(target.url, end);
  const websocket::close_reason& reason = remote.reason();
  const bool regular = reason.code == websocket::close_code::none ||
                       reason.code == websocket::close_code::normal ||
                       reason.code == websocket::close_code::going_away;
  if (regular) co_return absl::OkStatus();
  co_return absl::UnavailableError(
      reason.reason.empty() ? absl::StrCat("the master closed the tunnel with code ", reason.code)
                            : std::string(reason.reason.c_str()));
}

// Connects to the service and relays to the end.
template <class Local>
asio::awaitable<absl::Status> RunTunnel(const TunnelTarget& target, Local& in, Local& out) {
  const Address address = ParseUrl(target.url);
  const auto executor = co_await asio::this_coro::executor;
  error_code error;
  tcp::resolver resolver(executor);
  const auto found = co_await resolver.async_resolve(address.host, address.port, Catch(error));
  if (error) co_return UnreachableError(target.url, error);
  beast::tcp_stream plain(executor);
  plain.expires_after(kConnectTimeout);
  co_await plain.async_connect(found, Catch(error));
  if (error) co_return UnreachableError(target.url, error);
  KeepAlive(plain.socket());
  if (!address.tls) {
    co_return co_await Upgrade(target, address, std::move(plain), in, out);
  }
  asio::ssl::context context(asio::ssl::context::tls_client);
  TlsVerifier verifier(target.url, target.trust);
  if (!verifier.ConfigureContext(context.native_handle())) co_return verifier.ToStatus("");
  beast::ssl_stream<beast::tcp_stream> secure(std::move(plain), context);
  if (const std::string name = verifier.server_name(); !name.empty()) {
    SSL_set_tlsext_host_name(secure.native_handle(), name.c_str());
  }
  co_await secure.async_handshake(asio::ssl::stream_base::client, Catch(error));
  if (error) co_return verifier.ToStatus(error.message());
  co_return co_await Upgrade(target, address, std::move(secure), in, out);
}

// Runs until all work is done, the context is stopped, or an interrupt.
absl::Status RunContext(asio::io_context& io, std::optional<stream_descriptor>& interrupt) {
  if (InterruptFd() >= 0) {
    interrupt.emplace(io, ::fcntl(InterruptFd(), F_DUPFD_CLOEXEC, 0));
    interrupt->async_wait(stream_descriptor::wait_read, [&io](const error_code& canceled) {
      if (!canceled) io.stop();
    });
  }
  io.run();
  return CheckInterrupt();
}

// Asio makes descriptors non-blocking, also for the other processes that share them.
class RestoredFlags {
 public:
  explicit RestoredFlags(int fd) : fd_(fd), flags_(::fcntl(fd, F_GETFL)) {}
  ~RestoredFlags() {
    if (flags_ >= 0) ::fcntl(fd_, F_SETFL, flags_);
  }
  RestoredFlags(const RestoredFlags&) = delete;

 private:
  const int fd_;
  const int flags_;
};

}  // namespace

absl::Status CheckService(const std::string& service) {
  const bool valid = !service.empty() && std::all_of(service.begin(), service.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("-._:", c);
  });
  if (valid && service[0] != '.') return absl::OkStatus();
  return UsageError(
      absl::StrCat("expected the ID of a task, or TASK:PORT, found \"", service, "\""));
}

absl::Status RelayDescriptors(const TunnelTarget& target, int in, int out) {
  const RestoredFlags in_flags(in);
  const RestoredFlags out_flags(out);
  absl::Status result;
  asio::io_context io(1);
  std::optional<stream_descriptor> interrupt;
  stream_descriptor from(io), to(io);
  error_code error;
  from.assign(::fcntl(in, F_DUPFD_CLOEXEC, 0), error);
  if (!error) to.assign(::fcntl(out, F_DUPFD_CLOEXEC, 0), error);
  if (error) return absl::InternalError(absl::StrCat("cannot read stdin: ", error.message()));
  asio::co_spawn(io, RunTunnel(target, from, to),
                 [&](const std::exception_ptr& thrown, absl::Status status) {
                   result = thrown ? absl::InternalError("tunnel: exception") : std::move(status);
                   io.stop();
                 });
  DET_RETURN_IF_ERROR(RunContext(io, interrupt));
  return result;
}

// ---- TunnelListener ----

struct TunnelListener::State {
  asio::io_context io{1};
  tcp::acceptor acceptor{io};
  std::optional<stream_descriptor> interrupt;
};

namespace {

using Report = std::function<void(const absl::Status&)>;

asio::awaitable<void> ServeConnection(const TunnelTarget& target, tcp::socket local,
                                      const Report& report) {
  KeepAlive(local);
  const absl::Status status = co_await RunTunnel(target, local, local);
  if (!status.ok()) report(status);
}

asio::awaitable<void> AcceptConnections(tcp::acceptor& acceptor, const TunnelTarget& target,
                                        const Report& report) {
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer pause(executor);
  while (true) {
    error_code error;
    tcp::socket local = co_await acceptor.async_accept(Catch(error));
    if (error) {  // Too many open files, for example.
      pause.expires_after(std::chrono::milliseconds(100));
      co_await pause.async_wait(Catch(error));
      continue;
    }
    asio::co_spawn(executor, ServeConnection(target, std::move(local), report), asio::detached);
  }
}

}  // namespace

TunnelListener::TunnelListener(std::unique_ptr<State> state) : state_(std::move(state)) {}
TunnelListener::TunnelListener(TunnelListener&&) noexcept = default;
TunnelListener::~TunnelListener() = default;

absl::StatusOr<TunnelListener> TunnelListener::Open(const std::string& address, int port) {
  auto state = std::make_unique<State>();
  error_code error;
  const auto ip = asio::ip::make_address(address, error);
  if (error) {
    return UsageError(absl::StrCat("expected an IP address to listen on, found \"", address, "\""));
  }
  tcp::acceptor& acceptor = state->acceptor;
  const tcp::endpoint endpoint(ip, static_cast<unsigned short>(port));
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return absl::FailedPreconditionError(absl::StrCat("cannot listen on ", address, ":", port, ": ",
                                                      absl::AsciiStrToLower(error.message()),
                                                      "; choose another port"));
  }
  return TunnelListener(std::move(state));
}

int TunnelListener::port() const { return state_->acceptor.local_endpoint().port(); }

absl::Status TunnelListener::Serve(const TunnelTarget& target, const Report& report) {
  asio::co_spawn(state_->io, AcceptConnections(state_->acceptor, target, report), asio::detached);
  return RunContext(state_->io, state_->interrupt);
}

void TunnelListener::Stop() { state_->io.stop(); }

}  // namespace det::cli
