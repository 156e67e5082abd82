// HTTP requests with libcurl, for the buckets and for the sources of their credentials. Blocks.
#ifndef BASE_OBJECTS_HTTP_H_
#define BASE_OBJECTS_HTTP_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace det::objects {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method = "GET";
  std::string url;  // http or https
  Pairs headers;
  absl::string_view body;
  // Whether the request goes to the local network: it then bypasses any proxy.
  bool local = false;
  absl::Duration connect_timeout = absl::Seconds(10);
};

struct HttpResponse {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  bool ok() const { return status >= 200 && status < 300; }
  // Whether the same request may succeed later.
  bool is_retryable() const { return status == 408 || status == 429 || status >= 500; }
  std::string header(const std::string& name) const {
    const auto it = headers.find(name);
    return it == headers.end() ? "" : it->second;
  }
};

// Reuses connections. One thread at a time.
class HttpClient {
 public:
  HttpClient();

  // Returns UNAVAILABLE if no response arrives. Does not follow redirects.
  absl::StatusOr<HttpResponse> Send(const HttpRequest& request);

 private:
  struct Close {
    void operator()(void* curl) const;
  };
  std::unique_ptr<void, Close> curl_;
};

}  // namespace det::objects

#endif  // BASE_OBJECTS_HTTP_H_
