#include "master/gateway/session_cookie.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include <nlohmann/json.hpp>

namespace det::gateway {
namespace {

namespace http = boost::beast::http;

// "__Host-": browsers accept it only over TLS and from this host.
std::string CookieName(bool secure) { return secure ? "__Host-det_session" : "det_session"; }

// Existing clients store their token in this cookie. Resolute never sets it.
constexpr std::string_view kClientCookie = "auth=";

std::string Attributes(absl::Duration lifetime, bool secure) {
  return absl::StrCat("; Path=/; Max-Age=", absl::ToInt64Seconds(lifetime),
                      "; HttpOnly; SameSite=Strict", secure ? "; Secure" : "");
}

absl::string_view GetCookieValue(const Headers& request, const char* name) {
  const auto value = request[name];
  return {value.data(), value.size()};
}

// The Authorization header for the cookie that begins with `start`; empty if there is none.
std::string GetBearer(const Headers& request, std::string_view start) {
  for (absl::string_view cookie : absl::StrSplit(GetCookieValue(request, "Cookie"), ';')) {
    cookie = absl::StripAsciiWhitespace(cookie);
    if (!absl::ConsumePrefix(&cookie, absl::string_view(start.data(), start.size()))) continue;
    // gRPC aborts on metadata that is not printable.
    const bool good = !cookie.empty() && std::all_of(cookie.begin(), cookie.end(),
                                                     [](char c) { return c > 0x20 && c <= 0x7e; });
    return good ? absl::StrCat("Bearer ", cookie) : "";
  }
  return "";
}

}  // namespace

bool IsDashboardRequest(const Headers& request) {
  return GetCookieValue(request, "X-Det-Session") == "cookie";
}

bool IsSecure(const Headers& request, bool tls) {
  return tls || GetCookieValue(request, "X-Forwarded-Proto") == "https";
}

std::string GetCookieAuthorization(const Headers& request, bool secure) {
  std::string found = GetBearer(request, CookieName(secure) + "=");
  return found.empty() ? GetBearer(request, kClientCookie) : found;
}

std::string SetSessionCookie(const std::string& token, absl::Duration lifetime, bool secure) {
  return absl::StrCat(CookieName(secure), "=", token, Attributes(lifetime, secure));
}

std::string EndSessionCookie(bool secure) {
  return absl::StrCat(CookieName(secure), "=", Attributes(absl::ZeroDuration(), secure));
}

std::optional<std::string> TakeToken(std::string* json) {
  nlohmann::json message = nlohmann::json::parse(*json, nullptr, /*allow_exceptions=*/false);
  if (!message.is_object()) return std::nullopt;
  const auto found = message.find("token");
  if (found == message.end() || !found->is_string()) return std::nullopt;
  const std::string token = *found;
  message.erase(found);
  *json = message.dump();
  return token;
}

}  // namespace det::gateway
