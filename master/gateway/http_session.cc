#include "master/gateway/http_session.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "base/await.h"
#include "base/fd.h"
#include "master/gateway/http_exchange.h"
#include "master/gateway/tls_session.h"
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <grpcpp/server_posix.h>

namespace det::gateway {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using base::Catch;
using boost::system::error_code;

constexpr auto kIdle = std::chrono::seconds(75);  // for the first byte
constexpr auto kProtocolPrefixBytes = std::chrono::seconds(10);
// Timeouts for discarding a request: for the next bytes, and in total.
constexpr auto kPause = std::chrono::seconds(5);
constexpr auto kRest = std::chrono::seconds(60);

// Detects the protocol by the first bytes, which are only peeked.
enum class Protocol { kHttp1, kHttp2, kNone };

Protocol PeekProtocol(int fd) {
  constexpr std::string_view kPreface = "PRI * HTTP/2";
  char bytes[kPreface.size()];
  const ssize_t got = ::recv(fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
  if (got < 3) return Protocol::kNone;
  const std::string_view prefix(bytes, static_cast<size_t>(got));
  return prefix == kPreface.substr(0, prefix.size()) ? Protocol::kHttp2 : Protocol::kHttp1;
}

asio::awaitable<Protocol> DetectProtocol(std::shared_ptr<beast::tcp_stream> kept) {
  beast::tcp_stream& stream = *kept;
  asio::steady_timer pause(stream.get_executor());
  const auto deadline = std::chrono::steady_clock::now() + kProtocolPrefixBytes;
  error_code error;
  // Idle connections wait here until their first byte.
  auto giving_up = std::make_shared<asio::steady_timer>(stream.get_executor(), kIdle);
  // An expired timer may run after the end of the connection.
  giving_up->async_wait([kept](const error_code& canceled) {
    if (!canceled) kept->socket().cancel();
  });
  co_await stream.socket().async_wait(asio::socket_base::wait_read, Catch(error));
  giving_up->cancel();
  while (!error && std::chrono::steady_clock::now() < deadline) {
    const Protocol protocol = PeekProtocol(stream.socket().native_handle());
    if (protocol != Protocol::kNone) co_return protocol;
    char byte;
    if (::recv(stream.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) break;
    // One or two bytes have arrived, so waiting for data would return at once.
    pause.expires_after(std::chrono::milliseconds(10));
    co_await pause.async_wait(Catch(error));
  }
  co_return Protocol::kNone;
}

// Notices clients that have disappeared, since websockets may be silent for hours: after two
// minutes.
void KeepAlive(int fd) {
  const int on = 1;
  const int seconds = 60;
  const int interval = 15;
  const int probes = 4;
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

// Another descriptor of the connection `fd`, in an epoll without requested events: it becomes
// readable when the connection has been shut down both ways or is broken, and never for data.
struct HangUp {
  base::Fd twin;
  base::Fd epoll;
};
std::optional<HangUp> WatchForDisconnect(int fd) {
  HangUp watch{base::Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)), base::Fd(::epoll_create1(EPOLL_CLOEXEC))};
  epoll_event event = {};
  if (!watch.twin.valid() || !watch.epoll.valid() ||
      ::epoll_ctl(watch.epoll.get(), EPOLL_CTL_ADD, watch.twin.get(), &event) != 0) {
    return std::nullopt;
  }
  return watch;
}

// gRPC does not report the end of a connection, but it shuts the socket down before closing it.
asio::awaitable<void> HandOffToGrpc(GrpcHandoff& handoff, grpc::Server* server,
                                    beast::tcp_stream& stream) {
  error_code error;
  stream.socket().set_option(asio::ip::tcp::no_delay(true), error);
  const auto executor = stream.get_executor();
  base::Fd fd(stream.release_socket().release(error));
  if (error) co_return;
  std::optional<HangUp> watch = WatchForDisconnect(fd.get());
  if (!watch) co_return;
  asio::posix::stream_descriptor hang_up(executor, watch->epoll.Release());
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
  const bool lent = handoff.Try([&] { grpc::AddInsecureChannelFromFd(server, fd.Release()); });
  if (!lent) co_return;
  co_await hang_up.async_wait(asio::posix::stream_descriptor::wait_read, Catch(error));
}

}  // namespace

asio::awaitable<void> DrainClient(beast::tcp_stream& stream) {
  const auto end = std::chrono::steady_clock::now() + kRest;
  std::array<char, 16 << 10> bytes;
  const auto into = asio::buffer(bytes);
  error_code error;
  while (!error && std::chrono::steady_clock::now() < end) {
    stream.expires_after(kPause);
    co_await stream.async_read_some(into, Catch(error));
  }
}

asio::awaitable<void> ServeConnection(std::shared_ptr<HttpContext> context,
                                      std::shared_ptr<beast::tcp_stream> stream) {
  error_code error;
  KeepAlive(stream->socket().native_handle());
  const auto peer = stream->socket().remote_endpoint(error);
  Caller caller{error ? "" : peer.address().to_string(), context->server};
  if (context->options.tls == nullptr) {
    co_await ServePlaintext(std::move(context), std::move(stream), std::move(caller));
  } else {
    co_await ServeTls(std::move(context), std::move(stream), std::move(caller));
  }
}

asio::awaitable<void> ServePlaintext(std::shared_ptr<HttpContext> context,
                                     std::shared_ptr<beast::tcp_stream> stream, Caller caller) {
  const Protocol protocol = co_await DetectProtocol(stream);
  if (protocol == Protocol::kHttp2)
    co_await HandOffToGrpc(context->handoff, caller.server, *stream);
  if (protocol != Protocol::kHttp1) co_return;
  error_code error;
  stream->socket().set_option(asio::ip::tcp::no_delay(true), error);
  beast::flat_buffer buffer(kMaxBufferedBytes);
  bool open = true;
  bool unread = false;
  while (open) {
    HttpExchange exchange(*context, stream, caller.address, buffer);
    open = co_await exchange.Serve();
    unread = exchange.unread();
  }
  stream->socket().shutdown(asio::ip::tcp::socket::shutdown_send, error);
  if (unread) co_await DrainClient(*stream);
  stream->close();
}

}  // namespace det::gateway
