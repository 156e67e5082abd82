#include "master/gateway/http_relay.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "base/await.h"
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http.hpp>

namespace det::gateway {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using base::Catch;
using boost::system::error_code;

constexpr auto kTransfer = std::chrono::seconds(300);  // for a piece of a body
constexpr size_t kPiece = 32 << 10;

// Reads what has arrived of the body; may return 0.
template <class Parser>
asio::awaitable<size_t> ReadPiece(beast::tcp_stream& stream, beast::flat_buffer& buffer,
                                  Parser& parser, std::vector<char>& piece, error_code& error) {
  parser.get().body().data = piece.data();
  parser.get().body().size = piece.size();
  parser.get().body().more = true;
  co_await http::async_read_some(stream, buffer, parser, Catch(error));
  if (error == http::error::need_buffer) error = {};
  co_return piece.size() - parser.get().body().size;
}

asio::awaitable<void> WritePiece(beast::tcp_stream& stream, const std::vector<char>& piece,
                                 size_t size, bool chunked, error_code& error) {
  const auto bytes = asio::buffer(piece.data(), size);
  if (chunked) {
    const auto chunk = http::make_chunk(bytes);
    co_await asio::async_write(stream, chunk, Catch(error));
  } else {
    co_await asio::async_write(stream, bytes, Catch(error));
  }
}

asio::awaitable<void> WriteLastChunk(beast::tcp_stream& stream, error_code& error) {
  const auto last = http::make_chunk_last();
  co_await asio::async_write(stream, last, Catch(error));
}

// Closes the program's connection when the client disconnects, since the program may have nothing
// to send for hours. Ends as soon as the client sends something.
asio::awaitable<void> CloseOnDisconnect(std::shared_ptr<beast::tcp_stream> client,
                                        std::weak_ptr<beast::tcp_stream> task,
                                        std::shared_ptr<bool> disconnected) {
  error_code error;
  co_await client->socket().async_wait(asio::socket_base::wait_read, Catch(error));
  char byte;
  if (!error) {
    const ssize_t got = ::recv(client->socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got > 0 || (got < 0 && errno == EAGAIN)) co_return;
  }
  *disconnected = true;
  if (const auto held = task.lock()) held->close();
}

// Two connections whose bytes are relayed.
struct Joined {
  std::shared_ptr<beast::tcp_stream> client;
  std::shared_ptr<beast::tcp_stream> task;
  bool over = false;
};

asio::awaitable<void> Pump(beast::tcp_stream& from, beast::tcp_stream& to, Joined& joined) {
  std::vector<char> piece(kPiece);
  const auto into = asio::buffer(piece);
  error_code error;
  while (!error && !joined.over) {
    const size_t got = co_await from.async_read_some(into, Catch(error));
    const auto bytes = asio::buffer(piece.data(), got);
    if (got > 0) co_await asio::async_write(to, bytes, Catch(error));
  }
  // The end of either direction is the end of the whole.
  joined.over = true;
  from.cancel();
  to.cancel();
}

bool IsInterim(unsigned status) { return status >= 100 && status < 200 && status != 101; }

}  // namespace

std::shared_ptr<beast::tcp_stream> MakeStream(const beast::tcp_stream::executor_type& executor,
                                              base::Fd connection) {
  tcp::socket socket(executor);
  error_code error;
  socket.assign(tcp::v4(), connection.get(), error);
  if (!error) connection.Release();
  socket.set_option(tcp::no_delay(true), error);
  return std::make_shared<beast::tcp_stream>(std::move(socket));
}

asio::awaitable<void> RelayBytes(std::shared_ptr<beast::tcp_stream> client,
                                 std::shared_ptr<beast::tcp_stream> task) {
  using namespace asio::experimental::awaitable_operators;
  Joined joined{std::move(client), std::move(task)};
  // Neither side has to send anything for hours.
  joined.client->expires_never();
  joined.task->expires_never();
  co_await (Pump(*joined.client, *joined.task, joined) &&
            Pump(*joined.task, *joined.client, joined));
}

bool HttpRelay::IsRepeatable(const Parts& parts) {
  const http::verb method = parts.request->get().method();
  return (method == http::verb::get || method == http::verb::head) && !parts.upgrade &&
         parts.request->is_done();
}

asio::awaitable<HttpRelay::Result> HttpRelay::Run(base::Fd connection) {
  using namespace asio::experimental::awaitable_operators;
  result_ = Result::kUnanswered;
  over_ = uploaded_ = false;
  task_buffer_.clear();
  task_ = MakeStream(parts_.client->get_executor(), std::move(connection));
  error_code error;
  task_->expires_after(kTransfer);
  http::request_serializer<http::empty_body> serializer(parts_.head);
  co_await http::async_write_header(*task_, serializer, Catch(error));
  if (!error) co_await (Upload() && Download());
  // The request must not be sent again for a client that is gone.
  co_return *disconnected_ ? Result::kBroken : result_;
}

asio::awaitable<void> HttpRelay::Upload() {
  if (parts_.request->is_done()) {
    uploaded_ = true;
  } else {
    co_await UploadBody();
  }
  if (!uploaded_ || over_) co_return;
  asio::co_spawn(task_->get_executor(), CloseOnDisconnect(parts_.client, task_, disconnected_),
                 asio::detached);
}

asio::awaitable<void> HttpRelay::UploadBody() {
  RequestParser& request = *parts_.request;
  std::vector<char> piece(kPiece);
  const bool chunked = request.chunked();
  error_code error;
  request.eager(true);
  while (!request.is_done() && !over_) {
    parts_.client->expires_after(kTransfer);
    const size_t got =
        co_await ReadPiece(*parts_.client, parts_.client_buffer, request, piece, error);
    if (error) {
      // The client is gone, unless the response has ended before.
      if (!over_) result_ = Result::kBroken;
      task_->close();
      co_return;
    }
    task_->expires_after(kTransfer);
    if (got > 0) co_await WritePiece(*task_, piece, got, chunked, error);
    // The program may refuse the rest with a response.
    if (error) co_return;
  }
  if (chunked && !over_) co_await WriteLastChunk(*task_, error);
  uploaded_ = !error;
}

asio::awaitable<void> HttpRelay::Download() {
  const error_code error = co_await ReadResponseHeader();
  if (!error) {
    const Result result = co_await RelayResponse();
    if (result_ != Result::kBroken) result_ = result;
  }
  over_ = true;
  if (uploaded_) co_return;
  parts_.client->cancel();
  task_->close();
}

asio::awaitable<error_code> HttpRelay::ReadResponseHeader() {
  error_code error;
  do {
    response_.emplace();
    response_->header_limit(kMaxHeaderBytes);
    response_->body_limit(boost::none);
    if (parts_.request->get().method() == http::verb::head) response_->skip(true);
    task_->expires_never();
    co_await http::async_read_header(*task_, task_buffer_, *response_, Catch(error));
  } while (!error && IsInterim(response_->get().result_int()));
  co_return error;
}

asio::awaitable<HttpRelay::Result> HttpRelay::RelayResponse() {
  const ResponseHeader& header = response_->get();
  const unsigned version = parts_.request->get().version();
  if (!HasClearFraming(header, header.version())) co_return Result::kUnanswered;
  if (header.result_int() == 101) {
    if (!parts_.upgrade) co_return Result::kUnanswered;
    co_return co_await RelayWebsocket();
  }
  Framing framing;
  if (const auto length = response_->content_length(); length && header.result_int() != 204) {
    framing.length = *length;
  }
  const bool has_body = !response_->is_done();
  framing.chunked = has_body && !framing.length && version >= 11;
  const bool is_delimited = !has_body || framing.length || framing.chunked;
  keeps_client_ = parts_.request->get().keep_alive() && uploaded_ && is_delimited;
  const bool needs_eof = response_->need_eof();
  ClientResponse out = MakeClientResponse(header, parts_.path, framing, /*upgrade=*/false);
  out.version(version);
  out.keep_alive(keeps_client_);
  if (!co_await SendHeader(out)) co_return Result::kBroken;
  if (has_body && co_await RelayBody(framing.chunked) == Result::kBroken) co_return Result::kBroken;
  keeps_task_ = !needs_eof && response_->keep_alive() && uploaded_ && task_buffer_.size() == 0;
  co_return Result::kAnswered;
}

asio::awaitable<bool> HttpRelay::SendHeader(ClientResponse& header) {
  parts_.on_response(header);
  error_code error;
  parts_.client->expires_after(kTransfer);
  http::response_serializer<http::empty_body> serializer(header);
  co_await http::async_write_header(*parts_.client, serializer, Catch(error));
  if (!error) co_return true;
  keeps_client_ = false;
  task_->close();
  co_return false;
}

asio::awaitable<HttpRelay::Result> HttpRelay::RelayBody(bool chunked) {
  std::vector<char> piece(kPiece);
  error_code error;
  response_->eager(true);
  while (!error && !response_->is_done()) {
    task_->expires_never();
    const size_t got = co_await ReadPiece(*task_, task_buffer_, *response_, piece, error);
    if (got == 0) continue;
    error_code write_error;
    parts_.client->expires_after(kTransfer);
    co_await WritePiece(*parts_.client, piece, got, chunked, write_error);
    if (write_error) error = write_error;
  }
  if (!error && chunked) co_await WriteLastChunk(*parts_.client, error);
  if (!error) co_return Result::kAnswered;
  keeps_client_ = false;
  task_->close();
  co_return Result::kBroken;
}

asio::awaitable<HttpRelay::Result> HttpRelay::RelayWebsocket() {
  ClientResponse out = MakeClientResponse(response_->get(), parts_.path, {}, /*upgrade=*/true);
  if (!co_await SendHeader(out)) co_return Result::kBroken;
  // Either side may have sent messages already.
  error_code error;
  const auto to_client = task_buffer_.data();
  co_await asio::async_write(*parts_.client, to_client, Catch(error));
  const auto to_task = parts_.client_buffer.data();
  if (!error) co_await asio::async_write(*task_, to_task, Catch(error));
  parts_.client_buffer.clear();
  if (!error) co_await RelayBytes(parts_.client, task_);
  task_->close();
  co_return Result::kAnswered;
}

base::Fd HttpRelay::TakeConnection() {
  if (!keeps_task_ || result_ != Result::kAnswered) return {};
  error_code error;
  base::Fd connection(task_->release_socket().release(error));
  if (error) return {};
  return connection;
}

}  // namespace det::gateway
