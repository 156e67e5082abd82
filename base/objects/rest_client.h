// The REST client shared by the buckets: signs and retries calls, and converts errors.
#ifndef BASE_OBJECTS_REST_CLIENT_H_
#define BASE_OBJECTS_REST_CLIENT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/objects/bucket.h"
#include "base/objects/http.h"

namespace det::objects {

// A call before it is signed.
struct Call {
  std::string method = "GET";
  std::string path;  // after the host, percent-encoded
  Pairs query;       // not encoded
  Pairs headers;
  absl::string_view body;
};

// Returns "a=b&c", with percent-encoded names and values.
std::string QueryText(const Pairs& query);

// Authenticates calls.
class Signer {
 public:
  virtual ~Signer() = default;
  // Adds headers or query parameters. `host` is the name and port of the server. Fails if there are
  // no credentials.
  virtual absl::Status Sign(Call& call, const std::string& host, absl::Time now) = 0;
  // Called when the server rejects the credentials as expired; other credentials may be available.
  virtual void RefreshCredentials() {}
};

class RestClient {
 public:
  // `address` is scheme, host and port. `name` is the name of the bucket, for messages.
  RestClient(std::string address, std::string name, std::unique_ptr<Signer> signer,
             RetryPolicy retry_policy);

  // Sends calls to `address` from now on.
  void SetAddress(std::string address);
  // Signs and sends a call, and repeats it after transient failures. Returns the response, with any
  // status.
  absl::StatusOr<HttpResponse> Send(const Call& call);
  // Converts a response to a status. `operation` is, for example, "write a/b".
  absl::Status ToStatus(const std::string& operation, const HttpResponse& response) const;
  // Returns the bytes from a response to a range request; fewer if the object ends earlier.
  absl::StatusOr<std::string> ExtractRange(const std::string& operation, HttpResponse response,
                                           int64_t offset, int64_t length) const;
  // Combines Send and ToStatus: returns only successful responses.
  absl::StatusOr<HttpResponse> SendChecked(const std::string& operation, const Call& call);

 private:
  absl::StatusOr<HttpResponse> SendOnce(const Call& call);

  std::string address_;
  std::string host_;
  const std::string name_;
  const std::unique_ptr<Signer> signer_;
  const RetryPolicy retry_policy_;
  HttpClient http_;
};

// Collects the keys of a listing, page by page.
class Listing {
 public:
  // `next` is the token of the next page; empty for the last page. Fails for a list without an end.
  absl::Status Add(std::vector<std::string> keys, const std::string& next);
  const std::string& next() const { return next_; }
  std::vector<std::string> Take() { return std::move(keys_); }

 private:
  static constexpr size_t kMaxKeys = 1'000'000;
  std::vector<std::string> keys_;
  std::string next_;
};

// Calls `put(number, content)` for each part of a file, in order, with numbers from 1. The parts
// are larger than kPartSize if there would be too many.
absl::Status ForEachPart(
    const std::string& path,
    const std::function<absl::Status(int number, absl::string_view content)>& put);
// Reads a whole file of at most kPartSize bytes. Returns nullopt if it is larger.
absl::StatusOr<std::optional<std::string>> ReadSmallFile(const std::string& path);

// Returns a range such as "bytes=5-9".
std::string FormatRange(int64_t offset, int64_t length);

}  // namespace det::objects

#endif  // BASE_OBJECTS_REST_CLIENT_H_
