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

// The connection of one client while a request of it is served. Coroutines here take what they are
// given by reference, from named variables: g++ 12 destroys some temporaries in them twice.
class Exchange {
 public:
  Exchange(HttpContext& context, std::shared_ptr<beast::tcp_stream> stream, Request request)
      : context_(context), stream_(std::move(stream)), request_(std::move(request)) {}

  // True when the connection is good for another request.
  asio::awaitable<bool> Serve();

 private:
  Response Answer(int status, const std::string& type, std::string body) const;
  Response Fail(const absl::Status& status) const {
    return Answer(HttpStatusOf(status.code()), "application/json", ErrorJson(status));
  }
  // What needs no call of a service; nullopt for all else.
  std::optional<Response> AnswerDirectly() const;
  // The call that the request asks for, or the answer to one that asks for none.
  absl::StatusOr<Transcoder::Call> FindCall(std::optional<Response>* refusal) const;

  asio::awaitable<bool> Write(Response& response);
  asio::awaitable<bool> ServeMetrics();
  asio::awaitable<bool> ServeUnary(Transcoder::Call& call, const std::string& authorization);
  asio::awaitable<void> ServeStream(const Transcoder::Call& call, const std::string& authorization);
  asio::awaitable<bool> WriteStreamHeader(bool events, bool chunked);
  asio::awaitable<bool> WriteChunk(const std::string& text, bool chunked);

  std::string_view target() const { return {request_.target().data(), request_.target().size()}; }
  bool Reads() const {
    return request_.method() == http::verb::get || request_.method() == http::verb::head;
  }

  HttpContext& context_;
  const std::shared_ptr<beast::tcp_stream> stream_;
  const Request request_;
};

Response Exchange::Answer(int status, const std::string& type, std::string body) const {
  Response response{static_cast<http::status>(status), request_.version()};
  response.set(http::field::server, "resolute");
  if (!type.empty()) response.set(http::field::content_type, type);
  response.keep_alive(request_.keep_alive());
  response.body() = std::move(body);
  response.prepare_payload();
  return response;
}

asio::awaitable<bool> Exchange::Write(Response& response) {
  if (context_.hooks.on_response) {
    context_.hooks.on_response(static_cast<int>(response.result_int()));
  }
  const bool keep = response.keep_alive();
  stream_->expires_after(kTransfer);
  error_code error;
  http::response_serializer<http::string_body> serializer(response);
  if (request_.method() == http::verb::head) {
    co_await http::async_write_header(*stream_, serializer, Catch(error));
  } else {
    co_await http::async_write(*stream_, serializer, Catch(error));
  }
  co_return !error && keep;
}

std::optional<Response> Exchange::AnswerDirectly() const {
  if (request_.method() == http::verb::options) {
    Response response = Answer(204, "", "");
    response.set(http::field::allow, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    return response;
  }
  if (Reads() && target().substr(0, target().find('?')) == "/") {
    return Answer(200, "text/plain; charset=utf-8", context_.options.about);
  }
  return std::nullopt;
}

absl::StatusOr<Transcoder::Call> Exchange::FindCall(std::optional<Response>* refusal) const {
  const auto name = request_.method_string();
  const std::string verb = Reads() ? "GET" : std::string(name.data(), name.size());
  absl::StatusOr<Transcoder::Call> call = context_.transcoder.Read(verb, target(), request_.body());
  if (absl::IsUnimplemented(call.status())) {
    *refusal = Answer(405, "application/json", ErrorJson(call.status()));
  } else if (!call.ok()) {
    *refusal = Fail(call.status());
  }
  return call;
}

asio::awaitable<bool> Exchange::Serve() {
  std::optional<Response> answer = AnswerDirectly();
  if (answer) co_return co_await Write(*answer);
  if (Reads() && target() == "/metrics" && context_.hooks.metrics)
    co_return co_await ServeMetrics();
  absl::StatusOr<Transcoder::Call> call = FindCall(&answer);
  if (answer) co_return co_await Write(*answer);
  const std::optional<std::string> authorization = AuthorizationOf(request_);
  if (!authorization) {
    answer = Fail(absl::UnauthenticatedError("the Authorization header is not text"));
    co_return co_await Write(*answer);
  }
  if (!call->streams) co_return co_await ServeUnary(*call, *authorization);
  co_await ServeStream(*call, *authorization);
  co_return false;
}

asio::awaitable<bool> Exchange::ServeMetrics() {
  auto ask = [this](auto done) { context_.hooks.metrics(std::move(done)); };
  std::string text = co_await Await<std::string>(ask);
  Response response = Answer(200, "text/plain; version=0.0.4; charset=utf-8", std::move(text));
  co_return co_await Write(response);
}

asio::awaitable<bool> Exchange::ServeUnary(Transcoder::Call& call,
                                           const std::string& authorization) {
  stream_->expires_never();
  absl::StatusOr<std::string> result =
      co_await context_.rpc.Unary(call.path, call.request, authorization);
  if (result.ok()) result = Transcoder::Write(*call.output, *result);
  Response response =
      result.ok() ? Answer(200, "application/json", *std::move(result)) : Fail(result.status());
  co_return co_await Write(response);
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
  const auto bytes = asio::buffer(text);
  if (chunked) {
    const auto chunk = http::make_chunk(bytes);
    co_await asio::async_write(*stream_, chunk, Catch(error));
  } else {
    co_await asio::async_write(*stream_, bytes, Catch(error));
  }
  stream_->expires_never();
  co_return !error;
}

asio::awaitable<bool> Exchange::WriteStreamHeader(bool events, bool chunked) {
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
    Response response = Fail(message.status());
    co_await Write(response);
    co_return;
  }
  const bool started = co_await WriteStreamHeader(events, chunked);
  bool writes = started && request_.method() != http::verb::head;
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
  if (!writes || !chunked) co_return;
  error_code error;
  const auto last = http::make_chunk_last();
  co_await asio::async_write(*stream_, last, Catch(error));
}

// Whoever does not say who he is gets little of our memory: enough for a login.
constexpr uint64_t kAnonymousBody = 64 << 10;

// What to say to a request that cannot be read; nullopt when nobody is there to hear it.
std::optional<Response> AnswerUnreadable(const error_code& error, uint64_t limit) {
  const bool large = error == http::error::body_limit;
  if (!large && error != http::error::header_limit && error != http::error::bad_method &&
      error != http::error::bad_version && error != http::error::bad_target) {
    return std::nullopt;
  }
  Response response{large ? http::status::payload_too_large : http::status::bad_request, 11};
  response.set(http::field::content_type, "application/json");
  response.keep_alive(false);
  response.body() = ErrorJson(absl::InvalidArgumentError(
      large ? absl::StrCat("the request is larger than ", limit, " bytes")
            : absl::StrCat("this is no HTTP request: ", error.message())));
  response.prepare_payload();
  return response;
}

// Reads one request; nullopt when the connection is over.
asio::awaitable<std::optional<Request>> ReadRequest(HttpContext& context,
                                                    std::shared_ptr<beast::tcp_stream>& stream,
                                                    beast::flat_buffer& buffer) {
  http::request_parser<http::string_body> parser;
  parser.header_limit(64 << 10);
  parser.body_limit(context.options.body_limit);
  stream->expires_after(kIdle);
  error_code error;
  co_await http::async_read_header(*stream, buffer, parser, Catch(error));
  stream->expires_after(kTransfer);
  uint64_t limit = context.options.body_limit;
  if (!error && parser.get()[http::field::authorization].empty()) {
    limit = std::min(limit, kAnonymousBody);
    if (parser.content_length_remaining().value_or(0) > limit) error = http::error::body_limit;
    parser.body_limit(limit);
  }
  const auto expect = error ? "" : parser.get()[http::field::expect];
  if (absl::EqualsIgnoreCase(absl::string_view(expect.data(), expect.size()), "100-continue")) {
    static constexpr char kGoOn[] = "HTTP/1.1 100 Continue\r\n\r\n";
    const auto bytes = asio::buffer(kGoOn, sizeof(kGoOn) - 1);
    co_await asio::async_write(*stream, bytes, Catch(error));
  }
  if (!error) co_await http::async_read(*stream, buffer, parser, Catch(error));
  if (!error) co_return parser.release();
  std::optional<Response> answer = AnswerUnreadable(error, limit);
  if (answer) co_await http::async_write(*stream, *answer, Catch(error));
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
