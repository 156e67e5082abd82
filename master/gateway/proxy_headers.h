// Translates the headers of proxied requests and responses (docs/tasks.md).
//
// A task's program is not trusted: it must not learn the caller's credentials for the master, and
// must not change what the browser stores for the master, which has the same origin. Hop-by-hop
// headers are handled by RFC 9110. Used by http_proxy.cc on its threads. Does no I/O.
#ifndef MASTER_GATEWAY_PROXY_HEADERS_H_
#define MASTER_GATEWAY_PROXY_HEADERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "master/gateway/http_headers.h"
#include "master/gateway/proxied_service.h"
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>

namespace det::gateway {

using RequestHeader = boost::beast::http::request_header<>;
using ResponseHeader = boost::beast::http::response_header<>;
using TaskRequest = boost::beast::http::request<boost::beast::http::empty_body>;
using ClientResponse = boost::beast::http::response<boost::beast::http::empty_body>;

inline constexpr std::string_view kProxyPaths = "/proxy/";

// Whether the length of the message is clear: at most one Host, and no Transfer-Encoding but a
// single "chunked" of HTTP/1.1. Programs behind the proxy may read anything else differently.
bool HasClearFraming(const Headers& headers, unsigned version);

// The service that a path below /proxy/ names.
struct ProxyTarget {
  std::string service;
  std::string path;  // "/proxy/<service>/" as it was requested
};
// NOT_FOUND if the target names no service.
absl::StatusOr<ProxyTarget> ParseProxyTarget(std::string_view target);

// The value of the parameter `token` of a target; empty if there is none.
std::string GetTokenParameter(std::string_view target);
std::string RemoveTokenParameter(std::string_view target);

// What the headers present, `secure` as in session_cookie.h. `target`: the request's.
ServiceCredentials GetServiceCredentials(const RequestHeader& request, std::string_view target,
                                         bool secure);

// The value of Set-Cookie that gives a browser access to a service.
std::string SetAccessCookie(const std::string& token, const std::string& path, bool secure);

// How a body is delimited.
struct Framing {
  std::optional<uint64_t> length;
  bool chunked = false;
};

struct Client {
  std::string address;  // empty: unknown
  bool secure = false;
  std::string request_id;
};

// The request for the task's program. A websocket handshake stays one if `upgrade`.
TaskRequest MakeTaskRequest(const RequestHeader& request, const OpenedService& service,
                            const Client& client, const Framing& framing, bool upgrade);

// The response for the client. `path`: of the ProxyTarget, to which cookies are restricted.
ClientResponse MakeClientResponse(const ResponseHeader& response, const std::string& path,
                                  const Framing& framing, bool upgrade);

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_PROXY_HEADERS_H_
