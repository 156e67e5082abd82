// Serves a TCP service of a task as a websocket whose binary frames carry the bytes.
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/await.h"
#include "master/gateway/http_exchange.h"
#include "master/gateway/http_headers.h"
#include "master/gateway/http_relay.h"
#include "master/gateway/websocket_connection.h"
#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/websocket.hpp>

namespace det::gateway {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using base::Catch;
using boost::system::error_code;

constexpr size_t kPiece = 32 << 10;

struct Tunnel {
  websocket::stream<WebsocketConnection> client;
  std::shared_ptr<beast::tcp_stream> task;
  bool client_has_ended = false;
};

asio::awaitable<void> ReadClient(Tunnel& tunnel) {
  std::vector<char> piece(kPiece);
  const auto into = asio::buffer(piece);
  size_t size = 0;  // of the message so far
  error_code error;
  while (!error) {
    const size_t got = co_await tunnel.client.async_read_some(into, Catch(error));
    if (error || !tunnel.client.got_binary()) continue;
    size += got;
    const auto bytes = asio::buffer(piece.data(), got);
    if (got > 0) co_await asio::async_write(*tunnel.task, bytes, Catch(error));
    if (error || !tunnel.client.is_message_done()) continue;
    // An empty message means that the client sends nothing more, but still reads.
    if (size == 0) tunnel.task->socket().shutdown(asio::socket_base::shutdown_send, error);
    size = 0;
  }
  tunnel.client_has_ended = true;
  tunnel.task->close();
}

asio::awaitable<void> ReadTask(Tunnel& tunnel) {
  std::vector<char> piece(kPiece);
  const auto into = asio::buffer(piece);
  error_code error;
  while (!error) {
    const size_t got = co_await tunnel.task->async_read_some(into, Catch(error));
    const auto bytes = asio::buffer(piece.data(), got);
    if (got > 0) co_await tunnel.client.async_write(bytes, Catch(error));
  }
  if (tunnel.client_has_ended) co_return;
  const websocket::close_reason normal(websocket::close_code::normal);
  co_await tunnel.client.async_close(normal, Catch(error));
}

}  // namespace

absl::Status HttpExchange::CheckTunnel(const std::string& name) const {
  if (!websocket::is_upgrade(request()) || buffer_.size() > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("service ", name, " is not HTTP; connect with a websocket"));
  }
  if (!IsFromAllowedOrigin({}, request())) {
    return absl::PermissionDeniedError("pages of other origins may not connect to this service");
  }
  return absl::OkStatus();
}

asio::awaitable<bool> HttpExchange::ServeTunnel(const std::string& name,
                                                const OpenedService& service) {
  using namespace asio::experimental::awaitable_operators;
  if (const absl::Status valid = CheckTunnel(name); !valid.ok()) {
    Response refusal = MakeErrorResponse(valid);
    co_return co_await Write(refusal);
  }
  absl::StatusOr<base::Fd> dialed = co_await Dial(service);
  if (!dialed.ok()) {
    Response failure = MakeBadGateway(GetDialError(name, dialed.status()));
    co_return co_await Write(failure);
  }
  Tunnel tunnel{websocket::stream<WebsocketConnection>(WebsocketConnection(stream_)),
                MakeStream(stream_->get_executor(), *std::move(dialed))};
  // Without pings: a client that is stopped for a while stays connected.
  tunnel.client.set_option(
      websocket::stream_base::timeout{.handshake_timeout = std::chrono::seconds(30),
                                      .idle_timeout = websocket::stream_base::none(),
                                      .keep_alive_pings = false});
  tunnel.client.set_option(websocket::stream_base::decorator([this](auto& response) {
    response.set(beast::http::field::server, "resolute");
    response.set("X-Request-Id", request_id_);
  }));
  tunnel.client.read_message_max(0);  // bytes are passed on before the end of their message
  tunnel.client.binary(true);
  tunnel.client.auto_fragment(false);  // a piece is one frame
  if (context_.hooks.on_response) context_.hooks.on_response(101);
  stream_->expires_never();
  tunnel.task->expires_never();
  error_code error;
  co_await tunnel.client.async_accept(request(), Catch(error));
  if (!error) co_await (ReadClient(tunnel) && ReadTask(tunnel));
  co_return false;
}

}  // namespace det::gateway
