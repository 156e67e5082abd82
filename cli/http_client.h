// One HTTP/1.1 request on its own connection, with libcurl.
// Used by api_client on any thread, which blocks. An interrupt ends every wait.
// Never retries, never follows redirects, never uses a proxy, never inspects a body.
#ifndef CLI_HTTP_CLIENT_H_
#define CLI_HTTP_CLIENT_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace det::cli {

struct HttpCall {
  std::string url;  // "http://host:port", or https
  std::string verb;
  std::string target;  // path and query
  std::string token;   // sent as "Authorization: Bearer"; empty: not sent
  std::string body;    // JSON
  std::string key;     // sent as "Idempotency-Key"; empty: not sent
  // Maximum time without any data; streams use an infinite duration.
  absl::Duration timeout = absl::Minutes(1);
  // How long the response is awaited if det is interrupted after the request was sent completely.
  // Used for requests whose result must be known. Afterwards the result is DEADLINE_EXCEEDED, not
  // CANCELLED.
  absl::Duration after_interrupt = absl::ZeroDuration();
};

// Receives the pieces of a body as they arrive. An error ends the call and becomes its result.
using BodySink = absl::FunctionRef<absl::Status(int http_status, absl::string_view piece)>;

// Sends a request and returns the HTTP status. Returns UNAVAILABLE if no connection can be
// established, ABORTED if it is lost later, CANCELLED when interrupted, DEADLINE_EXCEEDED after
// `timeout` without data, FAILED_PRECONDITION if the certificate is not trusted
// (trusted_certificates.h) or the server does not use TLS.
absl::StatusOr<int> CallHttp(const HttpCall& call, BodySink sink);

struct ServerCertificate {
  std::string pem;
  std::string fingerprint;  // SHA-256, "AB:CD:..."
};

// Returns the certificate of a server at https://, without verifying it. Sends no request.
absl::StatusOr<ServerCertificate> FetchCertificate(const std::string& url);

}  // namespace det::cli

#endif  // CLI_HTTP_CLIENT_H_
