// Reading request headers, and setting the response headers that depend on them.
//
// Used by http_exchange.cc on its threads. Does no I/O.
#ifndef MASTER_GATEWAY_HTTP_HEADERS_H_
#define MASTER_GATEWAY_HTTP_HEADERS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/beast/http/fields.hpp>

namespace det::gateway {

using Headers = boost::beast::http::fields;

// The value of `Grpc-Metadata-x-user-token`, or else of `Authorization`, or else of
// `Grpc-Metadata-x-allocation-token`, which existing clients and their tasks send. Nullopt if it is
// not printable: gRPC aborts on such metadata.
std::optional<std::string> GetAuthorization(const Headers& request);

// The client's X-Request-Id if it has 1 to 128 printable characters without spaces; else a new id.
std::string GetOrMakeRequestId(const Headers& request);

// The client's Idempotency-Key; empty if absent or not printable.
std::string GetIdempotencyKey(const Headers& request);

// The client's Accept header; empty if absent or not printable.
std::string GetAccept(const Headers& request);

// Whether the client accepts this content encoding: "gzip", "br".
bool AcceptsEncoding(const Headers& request, std::string_view encoding);
// Whether the client explicitly accepts HTML, as a browser does for navigation.
bool AcceptsHtml(const Headers& request);

// Whether the request comes from a page of this server or of an origin in `allowed`, or from no
// page.
bool IsFromAllowedOrigin(const std::vector<std::string>& allowed, const Headers& request);

// Sets CORS headers that let pages of the request's origin read the response, if `allowed` contains
// it or "*".
void AllowOrigin(const std::vector<std::string>& allowed, const Headers& request, Headers* answer);

// Sets the headers of a response to OPTIONS that tell which requests such pages may send.
void AllowRequests(Headers* answer);

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_HTTP_HEADERS_H_
