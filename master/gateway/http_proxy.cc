// Serves /proxy/<service>/<path>: leads into the program of a task (docs/tasks.md).
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/await.h"
#include "master/gateway/http_exchange.h"
#include "master/gateway/http_headers.h"
#include "master/gateway/http_relay.h"
#include "master/gateway/idle_connections.h"
#include "master/gateway/proxy_headers.h"
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/websocket/rfc6455.hpp>

namespace det::gateway {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using base::Await;
using boost::system::error_code;

constexpr char kSignInPage[] = "/sign-in?next=";

std::string PercentEncode(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  for (const unsigned char c : text) {
    if (absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_' || c == '/') {
      encoded += static_cast<char>(c);
    } else {
      encoded += {'%', kHex[c >> 4], kHex[c & 15]};
    }
  }
  return encoded;
}

}  // namespace

HttpExchange::Response HttpExchange::MakeProxyRefusal(const absl::Status& status) const {
  if (absl::IsUnauthenticated(status) && IsReadOnly() && AcceptsHtml(request()) &&
      context_.options.pages != nullptr) {
    Response response = MakeResponse(303, "", "");
    response.set(http::field::location, absl::StrCat(kSignInPage, PercentEncode(target())));
    response.set(http::field::cache_control, "no-store");
    return response;
  }
  Response response = MakeErrorResponse(status);
  // The task has ended, or has too many connections.
  if (absl::IsFailedPrecondition(status)) response.result(http::status::gone);
  if (absl::IsResourceExhausted(status)) response.result(http::status::service_unavailable);
  return response;
}

HttpExchange::Response HttpExchange::MakeBadGateway(const std::string& why) const {
  Response response = MakeErrorResponse(absl::UnavailableError(why));
  response.result(http::status::bad_gateway);
  return response;
}

asio::awaitable<bool> HttpExchange::ServeProxy() {
  const absl::StatusOr<ProxyTarget> place = ParseProxyTarget(target());
  if (!place.ok()) {
    Response refusal = MakeProxyRefusal(place.status());
    co_return co_await Write(refusal);
  }
  const auto open = [&](auto done) {
    context_.hooks.open_service(place->service,
                                GetServiceCredentials(request(), target(), IsSecureRequest()),
                                std::move(done));
  };
  const absl::StatusOr<OpenedService> service =
      co_await Await<absl::StatusOr<OpenedService>>(open, context_.rpc.io());
  if (!service.ok()) {
    Response refusal = MakeProxyRefusal(service.status());
    co_return co_await Write(refusal);
  }
  if (service->is_tcp) co_return co_await ServeTunnel(place->service, *service);
  co_return co_await RelayRequest(*place, *service);
}

std::string HttpExchange::GetDialError(const std::string& name, const absl::Status& status) {
  return absl::StrCat("cannot connect to service ", name, ": ", status.message());
}

asio::awaitable<absl::StatusOr<base::Fd>> HttpExchange::Dial(const OpenedService& service) {
  const auto dial = [&](auto done) { service.dial(std::move(done)); };
  co_return co_await Await<absl::StatusOr<base::Fd>>(dial, context_.rpc.io());
}

std::unique_ptr<HttpRelay> HttpExchange::MakeRelay(const ProxyTarget& place,
                                                   const OpenedService& service) {
  // A websocket begins after the whole request.
  const bool upgrade = beast::websocket::is_upgrade(request()) && parser_.is_done();
  Framing framing{.chunked = parser_.chunked()};
  if (const auto length = parser_.content_length()) framing.length = *length;
  const Client client{peer_, IsSecureRequest(), request_id_};
  TaskRequest head = MakeTaskRequest(request(), service, client, framing, upgrade);
  // Continues reading the request where `parser_`, which keeps the header, has stopped.
  auto body = std::make_unique<HttpRelay::RequestParser>(std::move(parser_));
  parser_.get().base() = body->get().base();
  body->body_limit(boost::none);
  return std::make_unique<HttpRelay>(HttpRelay::Parts{
      .client = stream_,
      .client_buffer = buffer_,
      .request = std::move(body),
      .head = std::move(head),
      .upgrade = upgrade,
      .on_response = [&](ClientResponse& out) { CompleteProxied(place, service, out); },
      .path = place.path});
}

asio::awaitable<absl::StatusOr<HttpRelay::Result>> HttpExchange::SendRequest(
    HttpRelay& relay, const OpenedService& service) {
  base::Fd connection =
      relay.is_repeatable() ? context_.idle_connections->Take(service.connection_key) : base::Fd();
  if (connection.valid()) {
    const HttpRelay::Result result = co_await relay.Run(std::move(connection));
    // The program may have closed the connection while it was idle.
    if (result != HttpRelay::Result::kUnanswered) co_return result;
  }
  absl::StatusOr<base::Fd> dialed = co_await Dial(service);
  if (!dialed.ok()) co_return dialed.status();
  co_return co_await relay.Run(*std::move(dialed));
}

asio::awaitable<bool> HttpExchange::RelayRequest(const ProxyTarget& place,
                                                 const OpenedService& service) {
  if (!parser_.is_done()) co_await AllowBody();
  const std::unique_ptr<HttpRelay> relay = MakeRelay(place, service);
  const absl::StatusOr<HttpRelay::Result> result = co_await SendRequest(*relay, service);
  body_was_read_ = relay->has_read_request();
  if (!result.ok() || *result == HttpRelay::Result::kUnanswered) {
    Response failure = MakeBadGateway(
        result.ok() ? absl::StrCat("service ", place.service,
                                   " closed the connection without a valid HTTP response")
                    : GetDialError(place.service, result.status()));
    co_return co_await Write(failure);
  }
  base::Fd kept = relay->TakeConnection();
  if (kept.valid()) context_.idle_connections->Put(service.connection_key, std::move(kept));
  co_return *result == HttpRelay::Result::kAnswered && relay->keeps_client() && !unread();
}

void HttpExchange::CompleteProxied(const ProxyTarget& place, const OpenedService& service,
                                   ClientResponse& response) const {
  if (context_.hooks.on_response) {
    context_.hooks.on_response(static_cast<int>(response.result_int()));
  }
  response.set("X-Request-Id", request_id_);
  if (service.access_token.empty() || GetTokenParameter(target()) != service.access_token) return;
  response.insert(http::field::set_cookie,
                  SetAccessCookie(service.access_token, place.path, IsSecureRequest()));
  // Other sites must not learn the token from the address of the page.
  response.set("Referrer-Policy", "same-origin");
}

}  // namespace det::gateway
