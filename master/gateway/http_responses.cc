#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/await.h"
#include "master/gateway/api_page.h"
#include "master/gateway/gzip.h"
#include "master/gateway/http_exchange.h"
#include "master/gateway/http_headers.h"
#include <boost/asio/use_awaitable.hpp>

namespace det::gateway {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using base::Catch;
using boost::system::error_code;

constexpr auto kTransfer = std::chrono::seconds(300);  // of a response
constexpr size_t kMinCompressedBytes = 1024;
constexpr std::string_view kApiPaths = "/api/v1/";

// The page runs only its own script, and connects only to this master.
constexpr char kPagePolicy[] =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; frame-ancestors 'none'";

// The dashboard's scripts and styles are separate files. It may generate images.
constexpr char kDashboardPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'";

// The path of the dashboard in links of existing clients.
constexpr std::string_view kFormerDashboard = "/det";

// A page of the dashboard whose path is also that of an API method: browsers get the page.
constexpr std::string_view kTasksPage = "/tasks";

// The error of a request that cannot be read; OK if its client has disconnected.
absl::Status GetReadError(const error_code& error, uint64_t limit) {
  const auto& kind = make_error_code(http::error::end_of_stream).category();
  if (error.category() != kind || error == http::error::end_of_stream ||
      error == http::error::partial_message) {
    return absl::OkStatus();
  }
  if (error == http::error::body_limit) {
    return absl::InvalidArgumentError(absl::StrCat("the request is larger than ", limit, " bytes"));
  }
  if (error == http::error::bad_transfer_encoding || error == http::error::bad_content_length) {
    return absl::InvalidArgumentError(
        "a request must have either one Content-Length or Transfer-Encoding: chunked");
  }
  return absl::InvalidArgumentError(absl::StrCat("invalid HTTP request: ", error.message()));
}

}  // namespace

asio::awaitable<bool> HttpExchange::RespondUnreadable(const error_code& error, uint64_t limit) {
  const absl::Status problem = GetReadError(error, limit);
  if (problem.ok()) co_return false;
  const int status = error == http::error::body_limit ? 413 : 400;
  Response response{static_cast<http::status>(status), 11};
  response.set(http::field::content_type, "application/json");
  response.keep_alive(false);
  response.body() = ErrorJson(problem);
  co_return co_await Write(response);
}

std::optional<HttpExchange::Response> HttpExchange::DecodeBody(uint64_t limit) {
  const auto encoding = request()[http::field::content_encoding];
  const absl::string_view name(encoding.data(), encoding.size());
  if (name.empty() || absl::EqualsIgnoreCase(name, "identity")) return std::nullopt;
  const auto refuse = [this](int status, const absl::Status& why) {
    return MakeResponse(status, "application/json", ErrorJson(why));
  };
  if (!absl::EqualsIgnoreCase(name, "gzip")) {
    return refuse(415, absl::InvalidArgumentError(absl::StrCat(
                           "Content-Encoding: ", name, " is not supported; use gzip or identity")));
  }
  absl::StatusOr<std::string> body = Gunzip(request().body(), limit);
  if (absl::IsOutOfRange(body.status())) {
    return refuse(413, absl::InvalidArgumentError(body.status().message()));
  }
  if (!body.ok()) return refuse(400, body.status());
  parser_.get().body() = *std::move(body);
  return std::nullopt;
}

std::string HttpExchange::GetErrorJson(const absl::Status& status) const {
  return target().starts_with(kApiPaths) ? ErrorJson(status) : PlainErrorJson(status);
}

HttpExchange::Response HttpExchange::MakeStreamErrorResponse(const absl::Status& status) const {
  Response response = MakeErrorResponse(status);
  response.body() = StreamErrorJson(status);
  return response;
}

HttpExchange::Response HttpExchange::MakeErrorResponse(const absl::Status& status) const {
  Response response =
      MakeResponse(ToHttpStatus(status.code()), "application/json", GetErrorJson(status));
  if (const auto seconds = status.GetPayload(kRetryAfter)) {
    response.set(http::field::retry_after, std::string(*seconds));
  }
  return response;
}

HttpExchange::Response HttpExchange::MakeResponse(int status, const std::string& type,
                                                  std::string body) const {
  Response response{static_cast<http::status>(status), request().version()};
  response.set(http::field::server, "resolute");
  if (!type.empty()) response.set(http::field::content_type, type);
  // After an unread body, the next request cannot be located.
  response.keep_alive(request().keep_alive() && !unread());
  response.body() = std::move(body);
  return response;
}

HttpExchange::Response HttpExchange::MakeFileResponse(const StaticFiles::File& file) const {
  const auto known = request()[http::field::if_none_match];
  const bool same = absl::StrContains(absl::string_view(known.data(), known.size()), file.etag);
  Response response = MakeResponse(same ? 304 : 200, file.content_type, "");
  response.set(http::field::etag, file.etag);
  response.set(http::field::cache_control,
               file.immutable ? "public, max-age=31536000, immutable" : "no-cache");
  response.set(http::field::vary, "Accept, Accept-Encoding");
  response.set("X-Content-Type-Options", "nosniff");
  response.set("Referrer-Policy", "same-origin");
  response.set("Cross-Origin-Opener-Policy", "same-origin");
  response.set("Content-Security-Policy", kDashboardPolicy);
  if (same) return response;
  const bool brotli = !file.brotli.empty() && AcceptsEncoding(request(), "br");
  const bool gzip = !brotli && !file.gzip.empty() && AcceptsEncoding(request(), "gzip");
  if (brotli || gzip) response.set(http::field::content_encoding, brotli ? "br" : "gzip");
  response.body() = brotli ? file.brotli : gzip ? file.gzip : file.plain;
  return response;
}

void HttpExchange::UpdateSession(const std::string& method, Response& response) const {
  const SessionMethods& session = context_.options.session;
  if (session.begin.empty() || !IsDashboardRequest(request())) return;
  const bool good = response.result() == http::status::ok;
  if (method == session.begin && good) {
    const std::optional<std::string> token = TakeToken(&response.body());
    if (!token) return;
    response.set(http::field::set_cookie,
                 SetSessionCookie(*token, session.lifetime, IsSecureRequest()));
  } else if (method == session.end && good) {
    // Cleared only here: cookies are per host, so it may belong to another master on another port.
    response.set(http::field::set_cookie, EndSessionCookie(IsSecureRequest()));
  }
  response.set(http::field::cache_control, "no-store");
}

void HttpExchange::AddCommonHeaders(Response& response) const {
  response.set("X-Request-Id", request_id_);
  AllowOrigin(context_.options.allow_origins, request(), &response);
  const bool as_it_is = response.count(http::field::etag) != 0;  // a precompressed file
  if (response.body().size() > kMinCompressedBytes && !as_it_is) {
    response.insert(http::field::vary, "Accept-Encoding");
    if (AcceptsEncoding(request(), "gzip")) {
      response.body() = Gzip(response.body());
      response.set(http::field::content_encoding, "gzip");
    }
  }
  response.prepare_payload();
}

asio::awaitable<bool> HttpExchange::Write(Response& response) {
  AddCommonHeaders(response);
  if (context_.hooks.on_response) {
    context_.hooks.on_response(static_cast<int>(response.result_int()));
  }
  const bool keep = response.keep_alive();
  stream_->expires_after(kTransfer);
  error_code error;
  http::response_serializer<http::string_body> serializer(response);
  if (request().method() == http::verb::head) {
    co_await http::async_write_header(*stream_, serializer, Catch(error));
  } else {
    co_await http::async_write(*stream_, serializer, Catch(error));
  }
  co_return !error && keep;
}

std::optional<HttpExchange::Response> HttpExchange::RespondDirectly() const {
  if (request().method() == http::verb::options) {
    Response response = MakeResponse(204, "", "");
    response.set(http::field::allow, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    AllowOrigin(context_.options.allow_origins, request(), &response);
    AllowRequests(&response);
    return response;
  }
  if (!IsReadOnly()) return std::nullopt;
  const std::string_view path = target().substr(0, target().find('?'));
  if (path == kFormerDashboard) {
    Response response = MakeResponse(301, "", "");
    response.set(http::field::location, "/");
    return response;
  }
  if (const StaticFiles* pages = context_.options.pages.get(); pages != nullptr) {
    // Other clients than browsers get the information page at /.
    const StaticFiles::File* file = pages->Find(path);
    if (file != nullptr && (path != "/" || AcceptsHtml(request()))) return MakeFileResponse(*file);
    if (path == kTasksPage && AcceptsHtml(request())) return MakeFileResponse(pages->index());
  }
  const BuiltinRoute* const own = FindBuiltin();
  if (own == nullptr) return std::nullopt;
  switch (own->kind) {
    case BuiltinRoute::Kind::kAbout:
      return MakeResponse(200, "text/plain; charset=utf-8", context_.options.about);
    case BuiltinRoute::Kind::kDescription: {
      if (context_.options.api.descriptors.empty()) return std::nullopt;
      const absl::StatusOr<std::string>& json = context_.openapi.Json();
      return json.ok() ? MakeResponse(200, "application/json", *json)
                       : MakeErrorResponse(json.status());
    }
    case BuiltinRoute::Kind::kApiPage: {
      Response response = MakeResponse(200, "text/html; charset=utf-8", std::string(GetApiPage()));
      response.set("Content-Security-Policy", kPagePolicy);
      return response;
    }
    case BuiltinRoute::Kind::kMetrics:
    case BuiltinRoute::Kind::kStreams:
      break;  // these wait
  }
  return std::nullopt;
}

}  // namespace det::gateway
