#include "master/gateway/http_session.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "master/gateway/await.h"
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <grpcpp/server_posix.h>

namespace det::gateway {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

constexpr auto kIdle = std::chrono::seconds(75);       // for the next request
constexpr auto kTransfer = std::chrono::seconds(300);  // for a body, either way
constexpr auto kFirstBytes = std::chrono::seconds(10);

auto Catch(error_code& error) { return asio::redirect_error(asio::use_awaitable, error); }

// What a connection speaks, by its first bytes, which stay where they are.
enum class Speech { kHttp1, kHttp2, kNone };

Speech Listen(int fd) {
  constexpr std::string_view kPreface = "PRI * HTTP/2";
  char bytes[kPreface.size()];
  const ssize_t got = ::recv(fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
  if (got < 3) return Speech::kNone;
  const std::string_view heard(bytes, static_cast<size_t>(got));
  return heard == kPreface.substr(0, heard.size()) ? Speech::kHttp2 : Speech::kHttp1;
}

asio::awaitable<Speech> FindSpeech(beast::tcp_stream& stream) {
  asio::steady_timer pause(stream.get_executor());
  const auto deadline = std::chrono::steady_clock::now() + kFirstBytes;
  error_code error;
  // Idle connections wait here; nothing is to be read before their first byte.
  auto giving_up = std::make_shared<asio::steady_timer>(stream.get_executor(), kIdle);
  giving_up->async_wait([&stream](const error_code& canceled) {
    if (!canceled) stream.socket().cancel();
  });
  co_await stream.socket().async_wait(asio::socket_base::wait_read, Catch(error));
  giving_up->cancel();
  while (!error && std::chrono::steady_clock::now() < deadline) {
    const Speech speech = Listen(stream.socket().native_handle());
    if (speech != Speech::kNone) co_return speech;
    char byte;
    if (::recv(stream.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) break;
    // One or two bytes are there, so that waiting for bytes would return at once.
    pause.expires_after(std::chrono::milliseconds(10));
    co_await pause.async_wait(Catch(error));
  }
  co_return Speech::kNone;
}

void HandToGrpc(grpc::Server* server, beast::tcp_stream& stream) {
  error_code error;
  stream.socket().set_option(asio::ip::tcp::no_delay(true), error);
  const int fd = stream.release_socket().release(error);
  if (error) return;
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  grpc::AddInsecureChannelFromFd(server, fd);
}

// Nothing for a header that is not printable: gRPC aborts on such metadata.
std::optional<std::string> AuthorizationOf(const Request& request) {
  const auto value = request[http::field::authorization];
  for (const char c : value) {
    if (c < 0x20 || c > 0x7e) return std::nullopt;
  }
  return std::string(value);
}

// The connection of one client while a request of it is served.
class Exchange {
 public:
  Exchange(HttpContext& context, std::shared_ptr<beast::tcp_stream> stream, Request request)
      : context_(context), stream_(std::move(stream)), request_(std::move(request)) {}

  // True when the connection is good for another request.
  asio::awaitable<bool> Serve();

 private:
  asio::awaitable<bool> Answer(int status, std::string type, std::string body,
                               std::string allow = "");
  asio::awaitable<bool> Fail(absl::Status status);
  asio::awaitable<bool> ServeMetrics();
  asio::awaitable<bool> ServeCall(std::string verb);
  asio::awaitable<void> ServeStream(const Transcoder::Call& call, const std::string& authorization);
  asio::awaitable<bool> WriteChunk(const std::string& text, bool chunked);

  HttpContext& context_;
  const std::shared_ptr<beast::tcp_stream> stream_;
  const Request request_;
};

asio::awaitable<bool> Exchange::Answer(int status, std::string type, std::string body,
                                       std::string allow) {
  Response response{static_cast<http::status>(status), request_.version()};
  response.set(http::field::server, "resolute");
  if (!type.empty()) response.set(http::field::content_type, type);
  if (!allow.empty()) response.set(http::field::allow, allow);
  response.keep_alive(request_.keep_alive());
  const bool head = request_.method() == http::verb::head;
  const size_t size = body.size();
  if (!head) response.body() = std::move(body);
  response.prepare_payload();
  if (head) response.content_length(size);
  if (context_.hooks.on_response) context_.hooks.on_response(status);
  stream_->expires_after(kTransfer);
  error_code error;
  http::response_serializer<http::string_body> serializer(response);
  if (head) {
    co_await http::async_write_header(*stream_, serializer, Catch(error));
  } else {
    co_await http::async_write(*stream_, serializer, Catch(error));
  }
  co_return !error && response.keep_alive();
}

asio::awaitable<bool> Exchange::Fail(absl::Status status) {
  co_return co_await Answer(HttpStatusOf(status.code()), "application/json", ErrorJson(status));
}

asio::awaitable<bool> Exchange::ServeMetrics() {
  auto ask = [this](auto done) { context_.hooks.metrics(std::move(done)); };
  std::string text = co_await Await<std::string>(ask);
  co_return co_await Answer(200, "text/plain; version=0.0.4; charset=utf-8", std::move(text));
}

asio::awaitable<bool> Exchange::Serve() {
  const std::string_view target(request_.target().data(), request_.target().size());
  const std::string_view path = target.substr(0, target.find('?'));
  const http::verb verb = request_.method();
  if (verb == http::verb::options) {
    co_return co_await Answer(204, "", "", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
  }
  const bool reads = verb == http::verb::get || verb == http::verb::head;
  if (reads && path == "/") {
    co_return co_await Answer(200, "text/plain; charset=utf-8", context_.options.about);
  }
  if (reads && path == "/metrics" && context_.hooks.metrics) co_return co_await ServeMetrics();
  const auto name = request_.method_string();
  co_return co_await ServeCall(reads ? "GET" : std::string(name.data(), name.size()));
}

asio::awaitable<bool> Exchange::ServeCall(std::string verb) {
  const std::string_view target(request_.target().data(), request_.target().size());
  absl::StatusOr<Transcoder::Call> call = context_.transcoder.Read(verb, target, request_.body());
  if (absl::IsUnimplemented(call.status())) {
    co_return co_await Answer(405, "application/json", ErrorJson(call.status()));
  }
  if (!call.ok()) co_return co_await Fail(call.status());
  const std::optional<std::string> authorization = AuthorizationOf(request_);
  if (!authorization) {
    co_return co_await Fail(absl::UnauthenticatedError("the Authorization header is not text"));
  }
  if (call->streams) {
    co_await ServeStream(*call, *authorization);
    co_return false;
  }
  stream_->expires_never();
  absl::StatusOr<std::string> response =
      co_await context_.rpc.Unary(call->path, std::move(call->request), *authorization);
  if (response.ok()) response = Transcoder::Write(*call->output, *response);
  if (!response.ok()) co_return co_await Fail(response.status());
  co_return co_await Answer(200, "application/json", *std::move(response));
}

// Ends the call when the client goes away: a stream may have nothing to write for hours.
asio::awaitable<void> WatchClient(std::shared_ptr<beast::tcp_stream> stream,
                                  std::shared_ptr<StreamCall> call) {
  error_code error;
  co_await stream->socket().async_wait(asio::socket_base::wait_read, Catch(error));
  if (error) co_return;
  char byte;
  const ssize_t got = ::recv(stream->socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EAGAIN)) call->Cancel();
}

asio::awaitable<bool> Exchange::WriteChunk(const std::string& text, bool chunked) {
  error_code error;
  stream_->expires_after(kTransfer);
  if (chunked) {
    co_await asio::async_write(*stream_, http::make_chunk(asio::buffer(text)), Catch(error));
  } else {
    co_await asio::async_write(*stream_, asio::buffer(text), Catch(error));
  }
  stream_->expires_never();
  co_return !error;
}

asio::awaitable<void> Exchange::ServeStream(const Transcoder::Call& call,
                                            const std::string& authorization) {
  const auto accept = request_[http::field::accept];
  const bool events =
      absl::StrContains(absl::string_view(accept.data(), accept.size()), "text/event-stream");
  const bool chunked = request_.version() >= 11;
  stream_->expires_never();
  const auto rpc = StreamCall::Start(context_.rpc, call.path, call.request, authorization);
  asio::co_spawn(stream_->get_executor(), WatchClient(stream_, rpc), asio::detached);
  absl::StatusOr<std::string> message = co_await rpc->Next();
  if (!message.ok() && !absl::IsOutOfRange(message.status())) {
    co_await Fail(message.status());
    co_return;
  }
  http::response<http::empty_body> header{http::status::ok, request_.version()};
  header.set(http::field::server, "resolute");
  header.set(http::field::content_type, events ? "text/event-stream" : "application/x-ndjson");
  header.set(http::field::cache_control, "no-cache");
  header.keep_alive(false);
  if (chunked) header.chunked(true);
  if (context_.hooks.on_response) context_.hooks.on_response(200);
  error_code error;
  http::response_serializer<http::empty_body> serializer(header);
  stream_->expires_after(kTransfer);
  co_await http::async_write_header(*stream_, serializer, Catch(error));
  bool writes = !error && request_.method() != http::verb::head;
  const auto line = [events](const std::string& json) {
    return events ? absl::StrCat("data: ", json, "\n\n") : absl::StrCat(json, "\n");
  };
  while (message.ok()) {
    const absl::StatusOr<std::string> json = Transcoder::Write(*call.output, *message);
    if (writes && json.ok()) {
      const std::string text = line(absl::StrCat("{\"result\":", *json, "}"));
      writes = co_await WriteChunk(text, chunked);
    } else {
      writes = false;
    }
    if (!writes) rpc->Cancel();
    message = co_await rpc->Next();
  }
  if (writes && !absl::IsOutOfRange(message.status())) {
    const std::string text = line(ErrorJson(message.status()));
    writes = co_await WriteChunk(text, chunked);
  }
  if (writes && chunked) {
    co_await asio::async_write(*stream_, http::make_chunk_last(), Catch(error));
  }
}

// Reads one request; nullopt when the connection is over.
asio::awaitable<std::optional<Request>> ReadRequest(HttpContext& context,
                                                    std::shared_ptr<beast::tcp_stream> stream,
                                                    beast::flat_buffer& buffer) {
  http::request_parser<http::string_body> parser;
  parser.header_limit(64 << 10);
  parser.body_limit(context.options.body_limit);
  stream->expires_after(kIdle);
  error_code error;
  co_await http::async_read_header(*stream, buffer, parser, Catch(error));
  stream->expires_after(kTransfer);
  if (!error &&
      absl::EqualsIgnoreCase(std::string(parser.get()[http::field::expect]), "100-continue")) {
    static constexpr char kGoOn[] = "HTTP/1.1 100 Continue\r\n\r\n";
    co_await asio::async_write(*stream, asio::buffer(kGoOn, sizeof(kGoOn) - 1), Catch(error));
  }
  if (!error) co_await http::async_read(*stream, buffer, parser, Catch(error));
  if (!error) co_return parser.release();
  if (error == http::error::body_limit || error == http::error::header_limit ||
      error == http::error::bad_method || error == http::error::bad_version ||
      error == http::error::bad_target) {
    const bool large = error == http::error::body_limit;
    Response response{large ? http::status::payload_too_large : http::status::bad_request, 11};
    response.set(http::field::content_type, "application/json");
    response.keep_alive(false);
    response.body() = ErrorJson(absl::InvalidArgumentError(
        large ? absl::StrCat("the request is larger than ", context.options.body_limit, " bytes")
              : absl::StrCat("this is no HTTP request: ", error.message())));
    response.prepare_payload();
    co_await http::async_write(*stream, response, Catch(error));
  }
  co_return std::nullopt;
}

}  // namespace

asio::awaitable<void> ServeConnection(std::shared_ptr<HttpContext> context,
                                      std::shared_ptr<beast::tcp_stream> stream) {
  const Speech speech = co_await FindSpeech(*stream);
  if (speech == Speech::kHttp2) HandToGrpc(context->server, *stream);
  if (speech != Speech::kHttp1) co_return;
  error_code error;
  stream->socket().set_option(asio::ip::tcp::no_delay(true), error);
  beast::flat_buffer buffer;
  bool open = true;
  while (open) {
    std::optional<Request> request = co_await ReadRequest(*context, stream, buffer);
    if (!request) break;
    Exchange exchange(*context, stream, *std::move(request));
    open = co_await exchange.Serve();
  }
  stream->socket().shutdown(asio::ip::tcp::socket::shutdown_send, error);
  stream->close();
}

}  // namespace det::gateway
