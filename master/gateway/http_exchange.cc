#include "master/gateway/http_exchange.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/await.h"
#include "master/gateway/http_headers.h"
#include "proto/json_writer.h"
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <google/protobuf/message.h>

namespace det::gateway {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using base::Await;
using base::Catch;
using boost::system::error_code;

constexpr auto kIdle = std::chrono::seconds(75);       // for the next request
constexpr auto kTransfer = std::chrono::seconds(300);  // for a body, in each direction

// Limit for unauthenticated callers: enough for a login.
constexpr uint64_t kAnonymousBody = 64 << 10;

absl::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

HttpExchange::HttpExchange(HttpContext& context, std::shared_ptr<beast::tcp_stream> stream,
                           std::string peer, beast::flat_buffer& buffer)
    : context_(context), stream_(std::move(stream)), peer_(std::move(peer)), buffer_(buffer) {}

bool HttpExchange::IsReadOnly() const {
  return request().method() == http::verb::get || request().method() == http::verb::head;
}

const BuiltinRoute* HttpExchange::FindBuiltin() const {
  return IsReadOnly() ? FindBuiltinRoute(target().substr(0, target().find('?'))) : nullptr;
}

asio::awaitable<bool> HttpExchange::Serve() {
  const error_code error = co_await ReadHeader();
  request_id_ = GetOrMakeRequestId(request());
  if (error) co_return co_await RespondUnreadable(error, context_.options.body_limit);
  if (!HasClearFraming(request(), request().version())) {
    co_return co_await RespondUnreadable(http::error::bad_transfer_encoding,
                                         context_.options.body_limit);
  }
  if (target().starts_with(kProxyPaths) && context_.hooks.open_service) {
    co_return co_await ServeProxy();
  }
  const std::string_view path = target().substr(0, target().find('?'));
  if (path == "/stream" && IsReadOnly() && context_.hooks.open_updates) {
    co_return co_await ServeUpdates();
  }
  std::optional<Response> answer = RespondDirectly();
  if (answer) co_return co_await Write(*answer);
  if (const BuiltinRoute* own = FindBuiltin(); own != nullptr) {
    if (own->kind == BuiltinRoute::Kind::kStreams) co_return co_await ServeJoined();
    if (own->kind == BuiltinRoute::Kind::kMetrics && context_.hooks.metrics) {
      co_return co_await ServeMetrics();
    }
  }
  const absl::StatusOr<Transcoder::Route> route = FindRoute(&answer);
  if (answer) co_return co_await Write(*answer);
  co_return co_await ServeRoute(*route);
}

asio::awaitable<bool> HttpExchange::ServeRoute(const Transcoder::Route& route) {
  std::optional<Response> answer;
  const std::optional<std::string> authorization = FindAuthorization(route.method);
  AuthorizedCaller caller;
  // The call itself authorizes the caller of a small request, in one step with the resources that
  // the request names.
  if (!authorization || !IsSmallLocalCall(route)) {
    absl::StatusOr<AuthorizedCaller> authorized = co_await Authorize(route.method, authorization);
    if (!authorized.ok()) {
      answer = MakeRefusal(route, authorized.status());
      UpdateSession(route.method, *answer);
      co_return co_await Write(*answer);
    }
    caller = *std::move(authorized);
  }
  uint64_t limit = context_.options.body_limit;
  if (!caller.identified) limit = std::min(limit, kAnonymousBody);
  const error_code error = co_await ReadBody(limit);
  if (error) co_return co_await RespondUnreadable(error, limit);
  answer = DecodeBody(limit);
  if (answer) co_return co_await Write(*answer);
  const absl::StatusOr<Transcoder::Call> call = Transcoder::Read(route, request().body());
  if (!call.ok()) {
    answer = MakeErrorResponse(call.status());
    co_return co_await Write(*answer);
  }
  const Metadata metadata = MakeMetadata(*authorization, caller);
  if (!call->streams) co_return co_await ServeUnary(route.method, *call, metadata);
  if (Transcoder::SendsFile(*call)) {
    co_await ServeDownload(*call, metadata);
  } else {
    co_await ServeStream(*call, metadata);
  }
  co_return false;
}

HttpExchange::Response HttpExchange::MakeRefusal(const Transcoder::Route& route,
                                                 const absl::Status& why) const {
  // A malformed ID or parameter is reported whether or not the caller is logged in. The body is not
  // read for this.
  const absl::Status malformed = Transcoder::Read(route, "").status();
  if (!malformed.ok()) return MakeErrorResponse(malformed);
  return route.match.method->server_streaming() ? MakeStreamErrorResponse(why)
                                                : MakeErrorResponse(why);
}

bool HttpExchange::IsSmallLocalCall(const Transcoder::Route& route) const {
  if (!context_.hooks.call || route.match.method->server_streaming()) return false;
  const bool encoded = request().count(http::field::content_encoding) > 0;
  return !encoded && (parser_.is_done() ||
                      parser_.content_length().value_or(kAnonymousBody + 1) <= kAnonymousBody);
}

std::optional<std::string> HttpExchange::FindAuthorization(const std::string& method) const {
  std::optional<std::string> authorization = GetAuthorization(request());
  const SessionMethods& session = context_.options.session;
  // A login may carry the cookie of an expired session.
  if (!authorization || !authorization->empty() || session.begin.empty() ||
      method == session.begin || !(IsReadOnly() || IsDashboardRequest(request()))) {
    return authorization;
  }
  return GetCookieAuthorization(request(), IsSecureRequest());
}

Metadata HttpExchange::MakeMetadata(const std::string& authorization,
                                    const AuthorizedCaller& caller) const {
  return {{"authorization", authorization},   {"x-authorization-ticket", caller.ticket},
          {"x-request-id", request_id_},      {"idempotency-key", GetIdempotencyKey(request())},
          {"x-accept", GetAccept(request())}, {"x-peer", peer_}};
}

// ---- in ----

asio::awaitable<error_code> HttpExchange::ReadHeader() {
  parser_.header_limit(kMaxHeaderBytes);
  parser_.body_limit(boost::none);  // ReadBody has the limit; proxied bodies have none
  stream_->expires_after(kIdle);
  error_code error;
  co_await http::async_read_header(*stream_, buffer_, parser_, Catch(error));
  stream_->expires_after(kTransfer);
  co_return error;
}

asio::awaitable<error_code> HttpExchange::ReadBody(uint64_t limit) {
  error_code error;
  if (parser_.is_done()) co_return error;
  if (parser_.content_length_remaining().value_or(0) > limit) {
    error = http::error::body_limit;
    co_return error;
  }
  parser_.body_limit(limit);
  stream_->expires_after(kTransfer);
  error = co_await AllowBody();
  if (!error) co_await http::async_read(*stream_, buffer_, parser_, Catch(error));
  co_return error;
}

asio::awaitable<error_code> HttpExchange::AllowBody() {
  error_code error;
  if (absl::EqualsIgnoreCase(View(request()[http::field::expect]), "100-continue")) {
    static constexpr char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";
    const auto bytes = asio::buffer(kContinue, sizeof(kContinue) - 1);
    co_await asio::async_write(*stream_, bytes, Catch(error));
  }
  co_return error;
}

absl::StatusOr<Transcoder::Route> HttpExchange::FindRoute(std::optional<Response>* refusal) const {
  const std::string verb = IsReadOnly() ? "GET" : std::string(View(request().method_string()));
  absl::StatusOr<Transcoder::Route> route = context_.transcoder.Find(verb, target());
  if (absl::IsUnimplemented(route.status())) {
    *refusal = MakeResponse(405, "application/json", GetErrorJson(route.status()));
  } else if (!route.ok()) {
    const StaticFiles* pages = context_.options.pages.get();
    const bool page = pages != nullptr && IsReadOnly() && AcceptsHtml(request()) &&
                      !absl::StartsWith(View(request().target()), "/api/");
    *refusal = page ? MakeFileResponse(pages->index()) : MakeErrorResponse(route.status());
  }
  return route;
}

asio::awaitable<absl::StatusOr<AuthorizedCaller>> HttpExchange::Authorize(
    const std::string& method, const std::optional<std::string>& authorization) {
  if (!authorization) {
    co_return absl::UnauthenticatedError(
        "the Authorization header contains unprintable "
        "characters");
  }
  if (!context_.hooks.authorize) co_return AuthorizedCaller{.identified = !authorization->empty()};
  auto start = [&](auto done) {
    context_.hooks.authorize(method, *authorization, std::move(done));
  };
  // The store may take longer than the remaining timeout of the request.
  stream_->expires_never();
  co_return co_await Await<absl::StatusOr<AuthorizedCaller>>(start, context_.rpc.io());
}

// ---- out ----

asio::awaitable<bool> HttpExchange::ServeMetrics() {
  auto start = [this](auto done) { context_.hooks.metrics(std::move(done)); };
  std::string text = co_await Await<std::string>(start, context_.rpc.io());
  Response response =
      MakeResponse(200, "text/plain; version=0.0.4; charset=utf-8", std::move(text));
  co_return co_await Write(response);
}

asio::awaitable<bool> HttpExchange::ServeUnary(const std::string& method,
                                               const Transcoder::Call& call,
                                               const Metadata& metadata) {
  stream_->expires_never();
  absl::StatusOr<Transcoder::Body> body;
  if (context_.hooks.call) {
    body = co_await CallLocally(method, call, metadata);
  } else {
    body = co_await CallGrpc(method, call, metadata);
  }
  Response response = body.ok() ? MakeResponse(200, body->content_type, std::move(body->text))
                                : MakeErrorResponse(body.status());
  UpdateSession(method, response);
  co_return co_await Write(response);
}

asio::awaitable<absl::StatusOr<Transcoder::Body>> HttpExchange::CallLocally(
    const std::string& method, const Transcoder::Call& call, const Metadata& metadata) {
  const std::shared_ptr<google::protobuf::Message> response = Transcoder::MakeResponse(call);
  const auto written = std::make_shared<proto::WrittenParts>();
  auto start = [&](auto done) {
    std::function<void()> cancel =
        context_.hooks.call({method, call.request, response, written, metadata}, std::move(done));
    CancelOnDisconnect(method, std::move(cancel));
  };
  const absl::Status status = co_await Await<absl::Status>(start, context_.rpc.io());
  if (!status.ok()) co_return status;
  co_return Transcoder::WriteBody(call, *response, *written);
}

asio::awaitable<absl::StatusOr<Transcoder::Body>> HttpExchange::CallGrpc(
    const std::string& method, const Transcoder::Call& call, const Metadata& metadata) {
  const auto context = std::make_shared<grpc::ClientContext>();
  CancelOnDisconnect(method, [weak = std::weak_ptr(context)] {
    if (const auto held = weak.lock()) held->TryCancel();
  });
  const std::string serialized = call.request->SerializeAsString();
  const absl::StatusOr<std::string> result =
      co_await context_.rpc.Unary(*context, call.path, serialized, metadata);
  if (!result.ok()) co_return result.status();
  co_return Transcoder::WriteBody(call, *result);
}

void HttpExchange::CancelOnDisconnect(const std::string& method, std::function<void()> cancel) {
  if (!context_.options.long_polls.contains(method)) return;
  asio::co_spawn(stream_->get_executor(), WatchClient(stream_, std::move(cancel)), asio::detached);
}

asio::awaitable<void> WatchClient(std::shared_ptr<beast::tcp_stream> stream,
                                  std::function<void()> on_disconnect) {
  error_code error;
  co_await stream->socket().async_wait(asio::socket_base::wait_read, Catch(error));
  if (error) co_return;
  char byte;
  const ssize_t got = ::recv(stream->socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EAGAIN)) on_disconnect();
}

asio::awaitable<bool> HttpExchange::WriteChunk(const std::string& text, bool chunked) {
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

asio::awaitable<bool> HttpExchange::WriteStreamHeader(const char* type, bool chunked) {
  http::response<http::empty_body> header{http::status::ok, request().version()};
  header.set(http::field::server, "resolute");
  header.set(http::field::content_type, type);
  header.set(http::field::cache_control, "no-cache");
  header.set("X-Request-Id", request_id_);
  AllowOrigin(context_.options.allow_origins, request(), &header);
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

asio::awaitable<void> HttpExchange::ServeStream(const Transcoder::Call& call,
                                                const Metadata& metadata) {
  const auto accept = request()[http::field::accept];
  const bool events =
      absl::StrContains(absl::string_view(accept.data(), accept.size()), "text/event-stream");
  const bool chunked = request().version() >= 11;
  stream_->expires_never();
  const std::string serialized = call.request->SerializeAsString();
  const auto rpc = StreamCall::Start(context_.rpc, call.path, serialized, metadata);
  std::function<void()> cancel = [rpc] { rpc->Cancel(); };
  asio::co_spawn(stream_->get_executor(), WatchClient(stream_, cancel), asio::detached);
  absl::StatusOr<std::string> message = co_await rpc->Next();
  if (!message.ok() && !absl::IsOutOfRange(message.status())) {
    Response response = MakeStreamErrorResponse(message.status());
    response.keep_alive(false);  // WatchClient reads from the connection
    co_await Write(response);
    co_return;
  }
  const char* const type = events ? kEvents : "application/x-ndjson";
  const bool started = co_await WriteStreamHeader(type, chunked);
  bool writes = started && request().method() != http::verb::head;
  const auto line = [events](const std::string& json) {
    return events ? absl::StrCat("data: ", json, "\n\n") : absl::StrCat(json, "\n");
  };
  while (message.ok()) {
    const absl::StatusOr<JsonCache::Text> json = context_.json_cache.Write(*call.output, *message);
    if (writes && json.ok()) {
      const std::string text = line(absl::StrCat("{\"result\":", **json, "}"));
      writes = co_await WriteChunk(text, chunked);
    } else {
      writes = false;
    }
    if (!writes) rpc->Cancel();
    message = co_await rpc->Next();
  }
  if (writes && !absl::IsOutOfRange(message.status())) {
    const std::string text = line(StreamErrorJson(message.status()));
    writes = co_await WriteChunk(text, chunked);
  }
  if (writes && chunked) co_await WriteLastChunk();
}

asio::awaitable<void> HttpExchange::WriteLastChunk() {
  error_code error;
  const auto last = http::make_chunk_last();
  co_await asio::async_write(*stream_, last, Catch(error));
}

}  // namespace det::gateway
