// One HTTP request on its own connection, with libcurl. Any thread; blocks. Never retries, never
// follows redirects, never uses a proxy.
#ifndef AGENT_RUNNER_HTTP_CLIENT_H_
#define AGENT_RUNNER_HTTP_CLIENT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace det::agent {

// How the certificate of a server is verified.
struct TlsTrust {
  std::string authority_file;  // PEM; empty: the system's authorities
  std::string server_name;     // in the certificate; empty: the host of the URL
};

struct HttpRequest {
  std::string url;
  std::string verb = "GET";
  std::vector<std::string> headers;  // "Name: value"
  std::string body;
  absl::Duration timeout = absl::Seconds(30);
  TlsTrust tls = {};
};

struct HttpResponse {
  int status = 0;
  std::string body;
};

// UNAVAILABLE if there is no complete response.
absl::StatusOr<HttpResponse> Send(const HttpRequest& request);

}  // namespace det::agent

#endif  // AGENT_RUNNER_HTTP_CLIENT_H_
