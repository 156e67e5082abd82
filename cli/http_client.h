// One HTTP/1.1 request on a connection of its own.
// Called by api_client, on any thread, which waits. Every wait ends when det is interrupted.
// Never retries, never follows redirects, never looks into a body.
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
  std::string token;   // for "Authorization: Bearer"; empty: none
  std::string body;    // JSON
  std::string key;     // for "Idempotency-Key"; empty: none
  // Longest silence; a stream may be silent as long as it likes.
  absl::Duration timeout = absl::Minutes(1);
  // How much longer the answer is awaited when det is interrupted after all was sent: for what
  // must not be done without being known. Then DEADLINE_EXCEEDED, not CANCELLED.
  absl::Duration after_interrupt = absl::ZeroDuration();
};

// Receives a body as it comes. An error ends the call and becomes its result.
using BodySink = absl::FunctionRef<absl::Status(int http_status, absl::string_view piece)>;

// The HTTP status. UNAVAILABLE when nobody answers at the address, ABORTED when the connection
// broke later, CANCELLED when interrupted, DEADLINE_EXCEEDED after `timeout` of silence,
// FAILED_PRECONDITION when its certificate is not trusted (trust.h).
absl::StatusOr<int> CallHttp(const HttpCall& call, BodySink sink);

// What a master at https:// shows of itself, to whoever asks; nothing is said to it.
struct ShownCertificate {
  std::string pem;
  std::string fingerprint;  // SHA-256, "AB:CD:..."
};
absl::StatusOr<ShownCertificate> LookAtCertificate(const std::string& url);

}  // namespace det::cli

#endif  // CLI_HTTP_CLIENT_H_
