// One HTTP request and its answer, by libcurl. Used by the buckets and by what gets their
// credentials. Blocks.
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
  // Of this machine's own network, past any proxy.
  bool local = false;
  absl::Duration connect_within = absl::Seconds(10);
};

struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in small letters
  std::string body;

  bool ok() const { return status >= 200 && status < 300; }
  // Whether the same may be answered otherwise in a moment.
  bool passes() const { return status == 408 || status == 429 || status >= 500; }
  std::string header(const std::string& name) const {
    const auto it = headers.find(name);
    return it == headers.end() ? "" : it->second;
  }
};

// Keeps its connections. One thread at a time.
class HttpClient {
 public:
  HttpClient();

  // UNAVAILABLE when no answer came. Does not follow redirects.
  absl::StatusOr<HttpAnswer> Send(const HttpRequest& request);

 private:
  struct Close {
    void operator()(void* curl) const;
  };
  std::unique_ptr<void, Close> curl_;
};

}  // namespace det::objects

#endif  // BASE_OBJECTS_HTTP_H_
