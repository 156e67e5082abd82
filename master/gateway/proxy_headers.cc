#include "master/gateway/proxy_headers.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "master/gateway/session_cookie.h"

namespace det::gateway {
namespace {

namespace http = boost::beast::http;

constexpr absl::string_view kAccessCookie = "det_access";
// Cookies with credentials for the master, also those of existing clients.
constexpr std::initializer_list<absl::string_view> kMasterCookies = {
    kAccessCookie, "det_session", "__Host-det_session", "auth", "det_jwt"};

// Headers for one connection (RFC 9110, 7.6.1), beside those that Connection names.
constexpr std::initializer_list<absl::string_view> kHopByHop = {"connection",
                                                                "keep-alive",
                                                                "proxy-connection",
                                                                "proxy-authenticate",
                                                                "proxy-authorization",
                                                                "te",
                                                                "trailer",
                                                                "transfer-encoding",
                                                                "upgrade",
                                                                "content-length"};

// Response headers that change what a browser does with the whole origin, which is the master's.
constexpr std::initializer_list<absl::string_view> kOriginHeaders = {
    "alt-svc",   "clear-site-data",        "nel",
    "report-to", "service-worker-allowed", "strict-transport-security"};

absl::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }
absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

bool Contains(std::initializer_list<absl::string_view> names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsServiceCharacter(char c) {
  return absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_' || c == ':';
}

// The lower-case names of the headers for one connection.
std::set<std::string> GetHopByHop(const Headers& headers) {
  std::set<std::string> names(kHopByHop.begin(), kHopByHop.end());
  const auto [begin, end] = headers.equal_range(http::field::connection);
  for (auto it = begin; it != end; ++it) {
    for (const absl::string_view name : absl::StrSplit(View(it->value()), ',')) {
      names.insert(absl::AsciiStrToLower(absl::StripAsciiWhitespace(name)));
    }
  }
  return names;
}

// The name of the first cookie in the text; empty if it has none.
std::string GetCookieName(absl::string_view cookie) {
  cookie = cookie.substr(0, cookie.find(';'));
  const size_t equals = cookie.find('=');
  if (equals == absl::string_view::npos) return "";
  return std::string(absl::StripAsciiWhitespace(cookie.substr(0, equals)));
}

std::string RemoveMasterCookies(absl::string_view header) {
  std::vector<absl::string_view> kept;
  for (const absl::string_view cookie : absl::StrSplit(header, ';')) {
    if (!Contains(kMasterCookies, GetCookieName(cookie))) {
      kept.push_back(absl::StripAsciiWhitespace(cookie));
    }
  }
  return absl::StrJoin(kept, "; ");
}

// Restricts a Set-Cookie of the program to the paths of its service; empty if it must not be set.
std::string RestrictCookie(absl::string_view cookie, const std::string& path) {
  // A browser sends the cookie "=auth=x", which has no name, as "auth=x".
  const std::string name = GetCookieName(cookie);
  if (name.empty() || Contains(kMasterCookies, name)) return "";
  std::vector<std::string> kept;
  for (const absl::string_view part : absl::StrSplit(cookie, ';')) {
    const absl::string_view attribute = absl::StripAsciiWhitespace(part);
    const bool is_first = kept.empty();
    if (!is_first && absl::StartsWithIgnoreCase(attribute, "domain")) continue;
    const bool is_path = !is_first && absl::StartsWithIgnoreCase(attribute, "path");
    if (is_path && !absl::StartsWith(attribute.substr(4), "=" + path)) continue;
    kept.emplace_back(attribute);
  }
  const bool has_path = std::any_of(kept.begin() + 1, kept.end(), [](const std::string& each) {
    return absl::StartsWithIgnoreCase(each, "path");
  });
  if (!has_path) kept.push_back("Path=" + path);
  return absl::StrJoin(kept, "; ");
}

// Calls `visit` for each parameter of the target's query, "name=value".
template <class Visit>
void VisitParameters(std::string_view target, Visit visit) {
  const size_t mark = target.find('?');
  if (mark == std::string_view::npos) return;
  for (const absl::string_view each : absl::StrSplit(View(target.substr(mark + 1)), '&')) {
    visit(each);
  }
}

bool IsTokenParameter(absl::string_view parameter) {
  return parameter == "token" || absl::StartsWith(parameter, "token=");
}

std::string GetCookie(const Headers& request, absl::string_view name) {
  const auto [begin, end] = request.equal_range(http::field::cookie);
  for (auto it = begin; it != end; ++it) {
    for (absl::string_view cookie : absl::StrSplit(View(it->value()), ';')) {
      cookie = absl::StripAsciiWhitespace(cookie);
      if (absl::ConsumePrefix(&cookie, name) && absl::ConsumePrefix(&cookie, "=")) {
        return std::string(cookie);
      }
    }
  }
  return "";
}

bool IsSafe(http::verb method) {
  return method == http::verb::get || method == http::verb::head || method == http::verb::options;
}

void SetFraming(const Framing& framing, Headers& headers) {
  if (framing.length) headers.set(http::field::content_length, std::to_string(*framing.length));
  if (framing.chunked) headers.set(http::field::transfer_encoding, "chunked");
}

void SetIfAbsent(Headers& headers, const char* name, const std::string& value) {
  if (headers.count(name) == 0 && !value.empty()) headers.set(name, value);
}

void SetForwarded(const Client& client, TaskRequest& request) {
  if (!client.address.empty()) {
    const std::string before(View(request["X-Forwarded-For"]));
    request.set("X-Forwarded-For",
                before.empty() ? client.address : absl::StrCat(before, ", ", client.address));
  }
  SetIfAbsent(request, "X-Real-IP", client.address);
  SetIfAbsent(request, "X-Forwarded-Proto", client.secure ? "https" : "http");
  SetIfAbsent(request, "X-Forwarded-Host", std::string(View(request[http::field::host])));
}

}  // namespace

bool HasClearFraming(const Headers& headers, unsigned version) {
  if (headers.count(http::field::host) > 1) return false;
  const size_t encodings = headers.count(http::field::transfer_encoding);
  if (encodings == 0) return true;
  return encodings == 1 && version == 11 &&
         absl::EqualsIgnoreCase(View(headers[http::field::transfer_encoding]), "chunked");
}

absl::StatusOr<ProxyTarget> ParseProxyTarget(std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  const size_t end = path.find('/', kProxyPaths.size());
  const std::string name =
      absl::StrReplaceAll(View(path.substr(kProxyPaths.size(), end - kProxyPaths.size())),
                          {{"%3A", ":"}, {"%3a", ":"}});
  if (name.empty() || !std::all_of(name.begin(), name.end(), IsServiceCharacter)) {
    return absl::NotFoundError(
        "service not found; expected /proxy/<task ID>/ or "
        "/proxy/<task ID>:<port>/");
  }
  if (end == std::string_view::npos) {
    return absl::NotFoundError(
        absl::StrCat("service not found; expected a slash at the end: /proxy/", name, "/"));
  }
  return ProxyTarget{name, std::string(path.substr(0, end + 1))};
}

std::string GetTokenParameter(std::string_view target) {
  std::string token;
  VisitParameters(target, [&](absl::string_view parameter) {
    if (token.empty() && absl::ConsumePrefix(&parameter, "token=")) token = std::string(parameter);
  });
  return token;
}

std::string RemoveTokenParameter(std::string_view target) {
  std::vector<absl::string_view> kept;
  VisitParameters(target, [&](absl::string_view parameter) {
    if (!IsTokenParameter(parameter)) kept.push_back(parameter);
  });
  const std::string path(target.substr(0, target.find('?')));
  return kept.empty() ? path : absl::StrCat(path, "?", absl::StrJoin(kept, "&"));
}

ServiceCredentials GetServiceCredentials(const RequestHeader& request, std::string_view target,
                                         bool secure) {
  ServiceCredentials credentials;
  credentials.access_token = GetTokenParameter(target);
  const std::string header = GetAuthorization(request).value_or("");
  if (absl::StartsWithIgnoreCase(header, "Bearer ")) {
    credentials.authorization = header;
  } else if (absl::StartsWithIgnoreCase(header, "token ") && credentials.access_token.empty()) {
    credentials.access_token = std::string(absl::StripAsciiWhitespace(header.substr(6)));
  }
  credentials.session_cookie = GetCookieAuthorization(request, secure);
  credentials.access_cookie = GetCookie(request, kAccessCookie);
  const bool changes = !IsSafe(request.method()) || request.count(http::field::upgrade) > 0;
  credentials.cross_site = changes && !IsFromAllowedOrigin({}, request);
  return credentials;
}

std::string SetAccessCookie(const std::string& token, const std::string& path, bool secure) {
  return absl::StrCat(kAccessCookie, "=", token, "; Path=", path, "; HttpOnly; SameSite=Lax",
                      secure ? "; Secure" : "");
}

TaskRequest MakeTaskRequest(const RequestHeader& request, const OpenedService& service,
                            const Client& client, const Framing& framing, bool upgrade) {
  TaskRequest out;
  out.method_string(request.method_string());
  const std::string_view target(request.target().data(), request.target().size());
  out.target(service.access_token.empty() ? std::string(target) : RemoveTokenParameter(target));
  out.version(11);
  const std::set<std::string> hop_by_hop = GetHopByHop(request);
  for (const auto& field : request) {
    const std::string name = absl::AsciiStrToLower(View(field.name_string()));
    if (hop_by_hop.contains(name) || name == "authorization" || name == "expect" ||
        absl::StartsWith(name, "x-det-") || absl::StartsWith(name, "grpc-metadata-")) {
      continue;
    }
    if (name == "referer") {
      // Its query may contain the token of a service.
      const std::string_view referer(field.value().data(), field.value().size());
      out.insert(field.name_string(), std::string(referer.substr(0, referer.find('?'))));
    } else if (name != "cookie") {
      out.insert(field.name_string(), field.value());
    } else if (const std::string cookies = RemoveMasterCookies(View(field.value()));
               !cookies.empty()) {
      out.insert(http::field::cookie, cookies);
    }
  }
  SetForwarded(client, out);
  out.set("X-Request-Id", client.request_id);
  for (const auto& [name, value] : service.headers) out.set(name, value);
  SetFraming(framing, out);
  if (upgrade) {
    out.set(http::field::connection, "Upgrade");
    out.set(http::field::upgrade, "websocket");
  }
  return out;
}

ClientResponse MakeClientResponse(const ResponseHeader& response, const std::string& path,
                                  const Framing& framing, bool upgrade) {
  ClientResponse out;
  out.result(response.result_int());
  out.reason(response.reason());
  out.version(11);
  const std::set<std::string> hop_by_hop = GetHopByHop(response);
  for (const auto& field : response) {
    const std::string name = absl::AsciiStrToLower(View(field.name_string()));
    if (hop_by_hop.contains(name) || Contains(kOriginHeaders, name)) continue;
    if (name != "set-cookie") {
      out.insert(field.name_string(), field.value());
    } else if (const std::string cookie = RestrictCookie(View(field.value()), path);
               !cookie.empty()) {
      out.insert(http::field::set_cookie, cookie);
    }
  }
  SetFraming(framing, out);
  if (upgrade) {
    out.set(http::field::connection, "Upgrade");
    out.set(http::field::upgrade, "websocket");
  }
  return out;
}

}  // namespace det::gateway
