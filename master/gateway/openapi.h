// The API as an OpenAPI 3.1 document, generated from the proto descriptors: paths, parameters,
// bodies and responses from the HTTP rules, descriptions from the comments.
//
// Used by http_responses.cc on its threads. Does no I/O.
#ifndef MASTER_GATEWAY_OPENAPI_H_
#define MASTER_GATEWAY_OPENAPI_H_

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace det::gateway {

struct ApiSource {
  std::string_view descriptors;       // a FileDescriptorSet with comments; static
  std::vector<std::string> services;  // full names; unknown ones are ignored
  std::string version;
  // Whether a method ("det.api.v1.AuthService.Login") is public; null: all need a token.
  std::function<bool(std::string_view method)> open;
};

// INTERNAL if the descriptors are invalid.
absl::StatusOr<std::string> MakeOpenApi(const ApiSource& source);

// Generates the document on first use. Any thread.
class OpenApi {
 public:
  explicit OpenApi(ApiSource source) : source_(std::move(source)) {}
  const absl::StatusOr<std::string>& Json() {
    std::call_once(once_, [this] { json_ = MakeOpenApi(source_); });
    return json_;
  }

 private:
  const ApiSource source_;
  std::once_flag once_;
  absl::StatusOr<std::string> json_;
};

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_OPENAPI_H_
