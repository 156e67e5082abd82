#include "master/gateway/http_headers.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "base/uuid.h"

namespace det::gateway {
namespace {

namespace http = boost::beast::http;

constexpr size_t kMaxRequestIdBytes = 128;

bool IsPrintable(std::string_view text, bool blanks) {
  return std::all_of(text.begin(), text.end(), [blanks](char c) {
    return c > 0x20 && c <= 0x7e ? true : blanks && c == 0x20;
  });
}

std::string Value(const Headers& headers, const char* name) {
  const auto value = headers[name];
  return std::string(value.data(), value.size());
}

}  // namespace

std::optional<std::string> GetAuthorization(const Headers& request) {
  // Clients of gRPC gateways send the same header with this prefix.
  std::string value = Value(request, "Grpc-Metadata-x-user-token");
  if (value.empty()) value = Value(request, "Authorization");
  if (value.empty()) value = Value(request, "Grpc-Metadata-x-allocation-token");
  if (!IsPrintable(value, true)) return std::nullopt;
  return value;
}

std::string GetOrMakeRequestId(const Headers& request) {
  std::string id = Value(request, "X-Request-Id");
  const bool good = !id.empty() && id.size() <= kMaxRequestIdBytes && IsPrintable(id, false);
  return good ? id : base::NewUuid();
}

std::string GetIdempotencyKey(const Headers& request) {
  std::string key = Value(request, "Idempotency-Key");
  return IsPrintable(key, true) ? key : "";
}

std::string GetAccept(const Headers& request) {
  std::string types = Value(request, "Accept");
  return IsPrintable(types, true) ? types : "";
}

bool AcceptsHtml(const Headers& request) {
  return absl::StrContains(GetAccept(request), "text/html");
}

bool AcceptsEncoding(const Headers& request, std::string_view encoding) {
  const std::string accepted = Value(request, "Accept-Encoding");
  for (const absl::string_view part : absl::StrSplit(accepted, ',')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(part, ';');
    if (!absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(parts[0]),
                                absl::string_view(encoding.data(), encoding.size())))
      continue;
    if (parts.size() < 2) return true;
    const absl::string_view weight = absl::StripAsciiWhitespace(parts[1]);
    return weight != "q=0" && weight != "q=0.0" && weight != "q=0.00" && weight != "q=0.000";
  }
  return false;
}

bool IsFromAllowedOrigin(const std::vector<std::string>& allowed, const Headers& request) {
  const std::string origin = Value(request, "Origin");
  if (origin.empty()) return true;
  const size_t scheme = origin.find("://");
  if (scheme != std::string::npos &&
      absl::EqualsIgnoreCase(origin.substr(scheme + 3), Value(request, "Host"))) {
    return true;
  }
  return std::any_of(allowed.begin(), allowed.end(),
                     [&](const std::string& each) { return each == "*" || each == origin; });
}

void AllowOrigin(const std::vector<std::string>& allowed, const Headers& request, Headers* answer) {
  if (allowed.empty()) return;
  answer->insert(http::field::vary, "Origin");
  const std::string origin = Value(request, "Origin");
  const auto fits = [&](const std::string& each) { return each == "*" || each == origin; };
  if (origin.empty() || std::none_of(allowed.begin(), allowed.end(), fits)) return;
  answer->set(http::field::access_control_allow_origin, origin);
  answer->set(http::field::access_control_expose_headers, "X-Request-Id, Retry-After");
}

void AllowRequests(Headers* answer) {
  if (answer->count(http::field::access_control_allow_origin) == 0) return;
  answer->set(http::field::access_control_allow_methods, "GET, POST, PUT, PATCH, DELETE");
  answer->set(http::field::access_control_allow_headers,
              "Authorization, Content-Type, Content-Encoding, Idempotency-Key, X-Request-Id");
  answer->set(http::field::access_control_max_age, "600");
}

}  // namespace det::gateway
