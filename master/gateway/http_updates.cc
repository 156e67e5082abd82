// The websocket /stream: carries the messages of an UpdateFeed.
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/await.h"
#include "master/gateway/http_exchange.h"
#include "master/gateway/http_headers.h"
#include "master/gateway/websocket_connection.h"
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/websocket.hpp>

namespace det::gateway {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using base::Await;
using base::Catch;
using boost::system::error_code;

constexpr size_t kMaxRequestBytes = 4 << 20;
// Requests that wait while a client gets messages; a client that sends more is disconnected.
constexpr size_t kMaxWaitingRequests = 16;
constexpr size_t kMaxReasonBytes = 123;  // of RFC 6455
// The client is checked at least this often, so that an expired token ends its connection.
constexpr auto kMaxWait = std::chrono::seconds(10);

// One websocket. Used on the connection's strand.
struct Session {
  explicit Session(const std::shared_ptr<beast::tcp_stream>& stream)
      : socket(WebsocketConnection(stream)), timer(stream->get_executor()) {}

  void Wake() {
    is_woken = true;
    timer.cancel();
  }
  std::optional<std::string> TakeRequest() {
    if (requests.empty()) return std::nullopt;
    std::string first = std::move(requests.front());
    requests.pop_front();
    return first;
  }

  websocket::stream<WebsocketConnection> socket;
  asio::steady_timer timer;
  std::deque<std::string> requests;  // of the client
  bool is_woken = false;
  bool is_closed = false;
  absl::Status failure;  // why the client is disconnected
};

// Reads the client's messages until the connection ends.
asio::awaitable<void> ReadRequests(std::shared_ptr<Session> session) {
  beast::flat_buffer buffer;
  error_code error;
  while (session->failure.ok()) {
    co_await session->socket.async_read(buffer, Catch(error));
    if (error) {
      session->is_closed = true;
    } else if (session->requests.size() >= kMaxWaitingRequests) {
      session->failure =
          absl::InvalidArgumentError("too many requests; wait for the end of a sync");
    } else {
      session->requests.push_back(beast::buffers_to_string(buffer.data()));
      buffer.consume(buffer.size());
    }
    session->Wake();
    if (session->is_closed) co_return;
  }
}

websocket::close_reason ToCloseReason(const absl::Status& status) {
  websocket::close_code code = websocket::close_code::internal_error;
  if (absl::IsInvalidArgument(status) || absl::IsUnauthenticated(status) ||
      absl::IsPermissionDenied(status)) {
    code = websocket::close_code::policy_error;
  } else if (absl::IsUnavailable(status)) {
    code = websocket::close_code::try_again_later;
  }
  const std::string text(status.message().substr(0, kMaxReasonBytes));
  return {code, text};
}

asio::awaitable<void> WriteMessages(const std::shared_ptr<Session>& session,
                                    const std::vector<std::string>& messages) {
  error_code error;
  for (const std::string& message : messages) {
    const auto bytes = asio::buffer(message);
    co_await session->socket.async_write(bytes, Catch(error));
    if (!error) continue;
    session->is_closed = true;
    co_return;
  }
}

// Sends what the feed has, and waits for more, until the client leaves or an error occurs.
asio::awaitable<void> SendUpdates(std::shared_ptr<Session> session, UpdateFeed& feed,
                                  std::shared_ptr<asio::io_context> io) {
  error_code error;
  while (!session->is_closed && session->failure.ok()) {
    session->is_woken = false;
    std::optional<std::string> request = session->TakeRequest();
    auto next = [&](auto done) { feed.Next(std::move(request), std::move(done)); };
    absl::StatusOr<std::vector<std::string>> messages =
        co_await Await<absl::StatusOr<std::vector<std::string>>>(next, io);
    if (!messages.ok()) {
      session->failure = messages.status();
      break;
    }
    co_await WriteMessages(session, *messages);
    if (messages->empty() && session->requests.empty() && !session->is_woken) {
      session->timer.expires_after(kMaxWait);
      co_await session->timer.async_wait(Catch(error));
    }
  }
  if (session->is_closed) co_return;
  const websocket::close_reason reason = ToCloseReason(session->failure);
  co_await session->socket.async_close(reason, Catch(error));
}

}  // namespace

absl::Status HttpExchange::CheckUpgrade() const {
  if (!websocket::is_upgrade(request()) || buffer_.size() > 0) {
    return absl::InvalidArgumentError("expected the handshake of a websocket");
  }
  if (!IsFromAllowedOrigin(context_.options.allow_origins, request())) {
    return absl::PermissionDeniedError(
        "pages of this origin may not connect; add the origin to cors.allow_origins");
  }
  if (!FindAuthorization("")) {
    return absl::UnauthenticatedError(
        "the Authorization header contains unprintable "
        "characters");
  }
  return absl::OkStatus();
}

asio::awaitable<bool> HttpExchange::ServeUpdates() {
  stream_->expires_never();
  if (const absl::Status valid = CheckUpgrade(); !valid.ok()) {
    Response refusal = MakeErrorResponse(valid);
    co_return co_await Write(refusal);
  }
  const auto session = std::make_shared<Session>(stream_);
  auto open = [&](auto done) {
    // The feed may call it on its threads after the end of the connection.
    std::function<void()> wake = [weak = std::weak_ptr(session), io = context_.rpc.io(),
                                  executor = stream_->get_executor()] {
      asio::post(executor, [weak] {
        if (const auto held = weak.lock()) held->Wake();
      });
    };
    context_.hooks.open_updates(*FindAuthorization(""), std::move(wake), std::move(done));
  };
  absl::StatusOr<std::unique_ptr<UpdateFeed>> feed =
      co_await Await<absl::StatusOr<std::unique_ptr<UpdateFeed>>>(open, context_.rpc.io());
  if (!feed.ok()) {
    Response refusal = MakeErrorResponse(feed.status());
    co_return co_await Write(refusal);
  }
  websocket::stream<WebsocketConnection>& socket = session->socket;
  // Pings detect clients that have disappeared or do not read.
  socket.set_option(websocket::stream_base::timeout{.handshake_timeout = std::chrono::seconds(30),
                                                    .idle_timeout = std::chrono::seconds(60),
                                                    .keep_alive_pings = true});
  socket.set_option(websocket::stream_base::decorator([this](websocket::response_type& response) {
    response.set(boost::beast::http::field::server, "resolute");
    response.set("X-Request-Id", request_id_);
  }));
  socket.read_message_max(kMaxRequestBytes);
  socket.text(true);
  socket.auto_fragment(false);  // a message is one frame
  if (context_.hooks.on_response) context_.hooks.on_response(101);
  error_code error;
  co_await socket.async_accept(request(), Catch(error));
  if (error) co_return false;
  asio::co_spawn(stream_->get_executor(), ReadRequests(session), asio::detached);
  co_await SendUpdates(session, **feed, context_.rpc.io());
  co_return false;
}

}  // namespace det::gateway
