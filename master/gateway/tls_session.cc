#include "master/gateway/tls_session.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/await.h"
#include "base/fd.h"
#include "base/log.h"
#include "master/gateway/tls_keys.h"
#include "master/gateway/transcoder.h"
#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace det::gateway {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using base::Catch;
using boost::system::error_code;

constexpr auto kCloseTimeout = std::chrono::seconds(5);
// Timeout for a client that does not read.
constexpr unsigned kStalledMs = 75'000;
constexpr size_t kPiece = 16 << 10;  // the size of a TLS record
constexpr unsigned char kHandshakeRecord = 0x16;

// Closes the connection unless it is destroyed before.
class HandshakeDeadline {
 public:
  HandshakeDeadline(const std::shared_ptr<beast::tcp_stream>& stream,
                    std::chrono::milliseconds timeout)
      : timer_(stream->get_executor(), timeout) {
    // An expired timer may run after the end of the connection.
    timer_.async_wait([stream](const error_code& canceled) {
      error_code ignored;
      if (!canceled) stream->socket().close(ignored);
    });
  }

 private:
  asio::steady_timer timer_;
};

// Relays between the client and the plaintext connection; alive as long as either direction is.
struct Tunnel {
  Tunnel(std::shared_ptr<beast::tcp_stream> stream, asio::ssl::context& keys)
      : outside(std::move(stream)), tls(outside->socket(), keys), inside(outside->get_executor()) {}

  const std::shared_ptr<beast::tcp_stream> outside;
  asio::ssl::stream<tcp::socket&> tls;
  asio::local::stream_protocol::socket inside;
};

asio::awaitable<void> Decrypt(std::shared_ptr<Tunnel> tunnel) {
  std::array<char, kPiece> piece;
  const auto into = asio::buffer(piece);
  error_code error;
  while (true) {
    const size_t got = co_await tunnel->tls.async_read_some(into, Catch(error));
    if (error) break;
    const auto bytes = asio::buffer(piece.data(), got);
    co_await asio::async_write(tunnel->inside, bytes, Catch(error));
    if (error) break;
  }
  tunnel->inside.shutdown(asio::socket_base::shutdown_send, error);
}

asio::awaitable<void> Encrypt(std::shared_ptr<Tunnel> tunnel) {
  std::array<char, kPiece> piece;
  const auto into = asio::buffer(piece);
  error_code error;
  while (true) {
    const size_t got = co_await tunnel->inside.async_read_some(into, Catch(error));
    if (error) break;
    const auto bytes = asio::buffer(piece.data(), got);
    co_await asio::async_write(tunnel->tls, bytes, Catch(error));
    if (error) break;
  }
  error_code ignored;
  tunnel->inside.shutdown(asio::socket_base::shutdown_both, ignored);
  if (error == asio::error::eof) {
    const HandshakeDeadline deadline(tunnel->outside, kCloseTimeout);
    co_await tunnel->tls.async_shutdown(Catch(ignored));
  }
  tunnel->outside->socket().close(ignored);
}

// The served end of the plaintext socket pair; the tunnel has the other.
std::optional<tcp::socket> Join(Tunnel& tunnel) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return std::nullopt;
  base::Fd own(ends[0]);
  base::Fd served(ends[1]);
  error_code error;
  tunnel.inside.assign(asio::local::stream_protocol(), own.get(), error);
  if (error) return std::nullopt;
  own.Release();
  tcp::socket socket(tunnel.outside->get_executor());
  // Nothing TCP-specific is used on it.
  socket.assign(tcp::v4(), served.get(), error);
  if (error) return std::nullopt;
  served.Release();
  return socket;
}

bool HasClientCertificate(SSL* connection) {
  X509* const shown = ::SSL_get1_peer_certificate(connection);
  ::X509_free(shown);
  return shown != nullptr && ::SSL_get_verify_result(connection) == X509_V_OK;
}

// Whether the first bytes are a TLS handshake; nullopt: none arrived.
asio::awaitable<std::optional<bool>> IsTlsHandshake(std::shared_ptr<beast::tcp_stream> stream) {
  error_code error;
  co_await stream->socket().async_wait(asio::socket_base::wait_read, Catch(error));
  unsigned char first = 0;
  if (error || ::recv(stream->socket().native_handle(), &first, 1, MSG_PEEK | MSG_DONTWAIT) != 1) {
    co_return std::nullopt;
  }
  co_return first == kHandshakeRecord;
}

asio::awaitable<void> RefusePlaintext(std::shared_ptr<beast::tcp_stream> stream) {
  const std::string body =
      ErrorJson(absl::InvalidArgumentError("this port speaks TLS: use https://"));
  const std::string answer = absl::StrCat(
      "HTTP/1.1 400 Bad Request\r\nServer: resolute\r\nContent-Type: application/json\r\n"
      "Content-Length: ",
      body.size(), "\r\nConnection: close\r\n\r\n", body);
  const auto bytes = asio::buffer(answer);
  error_code error;
  co_await asio::async_write(stream->socket(), bytes, Catch(error));
  stream->socket().shutdown(asio::socket_base::shutdown_send, error);
  co_await DrainClient(*stream);
  stream->close();
}

// In any case, the tunnel notices the end.
asio::awaitable<void> ServeDecrypted(std::shared_ptr<HttpContext> context, tcp::socket socket,
                                     Caller caller) {
  auto stream = std::make_shared<beast::tcp_stream>(std::move(socket));
  co_await ServePlaintext(std::move(context), stream, std::move(caller));
  stream->close();
}

// Returns false if it cannot be created.
asio::awaitable<bool> ShakeHands(Tunnel& tunnel) {
  error_code error;
  co_await tunnel.tls.async_handshake(asio::ssl::stream_base::server, Catch(error));
  if (!error) co_return true;
  DET_LOG(DEBUG) << "TLS handshake failed" << base::Field("why", error.message());
  co_return false;
}

}  // namespace

asio::awaitable<void> ServeTls(std::shared_ptr<HttpContext> context,
                               std::shared_ptr<beast::tcp_stream> stream, Caller caller) {
  using namespace asio::experimental::awaitable_operators;
  error_code ignored;
  stream->socket().set_option(tcp::no_delay(true), ignored);
  ::setsockopt(stream->socket().native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &kStalledMs,
               sizeof(kStalledMs));
  std::optional<HandshakeDeadline> deadline(std::in_place, stream,
                                            context->options.handshake_limit);
  const std::optional<bool> tls = co_await IsTlsHandshake(stream);
  if (!tls) co_return;
  if (!*tls) {
    deadline.reset();
    co_return co_await RefusePlaintext(stream);
  }
  const std::shared_ptr<asio::ssl::context> keys = context->options.tls->Current();
  const auto tunnel = std::make_shared<Tunnel>(stream, *keys);
  if (!co_await ShakeHands(*tunnel)) co_return;
  deadline.reset();
  const bool known = HasClientCertificate(tunnel->tls.native_handle());
  if (known && context->options.agents != nullptr) caller.server = context->options.agents;
  std::optional<tcp::socket> served = Join(*tunnel);
  if (!served) co_return;
  co_await (Decrypt(tunnel) && Encrypt(tunnel) &&
            ServeDecrypted(context, *std::move(served), std::move(caller)));
}

}  // namespace det::gateway
