// What the headers of an HTTP request say, and which headers answers have because of them.
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

// Of `Authorization`, or else of `Grpc-Metadata-x-allocation-token`, where tasks of older clients
// have theirs. Nothing for a value that is not printable: gRPC aborts on such metadata.
std::optional<std::string> GetAuthorization(const Headers& request);

// The caller's X-Request-Id if it is 1 to 128 printable characters without a blank; else a new one.
std::string GetOrMakeRequestId(const Headers& request);

// The caller's Idempotency-Key, empty without one or where it is not printable.
std::string GetIdempotencyKey(const Headers& request);

// Which types of content the caller takes; empty where that is not said, or not printable.
std::string GetAccept(const Headers& request);

// Whether the client takes answers in this encoding: "gzip", "br".
bool AcceptsEncoding(const Headers& request, std::string_view encoding);
// Whether it asks for a page by name, as a browser does for what its user opened.
bool AcceptsHtml(const Headers& request);

// Lets pages of the request's origin read the answer, if `allowed` names it or has "*".
void AllowOrigin(const std::vector<std::string>& allowed, const Headers& request, Headers* answer);

// And, as the answer to OPTIONS, which requests they may make.
void AllowRequests(Headers* answer);

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_HTTP_HEADERS_H_
