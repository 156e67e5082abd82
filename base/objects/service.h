// What the buckets have in common: a call's signature, further tries, and what an error means.
#ifndef BASE_OBJECTS_SERVICE_H_
#define BASE_OBJECTS_SERVICE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/objects/bucket.h"
#include "base/objects/http.h"

namespace det::objects {

// One call of a service, before it is signed.
struct Call {
  std::string method = "GET";
  std::string path;  // from the host on, percent-encoded
  Pairs query;       // as they are
  Pairs headers;
  absl::string_view body;
};

// "a=b&c", names and values percent-encoded.
std::string QueryText(const Pairs& query);

// Gives calls what proves who makes them.
class Signer {
 public:
  virtual ~Signer() = default;
  // Adds headers, or to the query. `host`: the name and port that the call goes to. Fails when
  // there are no credentials.
  virtual absl::Status Sign(Call& call, const std::string& host, absl::Time now) = 0;
  // The server no longer takes what was given; other credentials may be there by now.
  virtual void Renew() {}
};

class Service {
 public:
  // `address`: scheme, host and port. `name`: of the bucket, for people.
  Service(std::string address, std::string name, std::unique_ptr<Signer> signer, Patience patience);

  // Calls go there from now on.
  void MoveTo(std::string address);
  // The answer, whatever its status is; signed and sent again after what passes.
  absl::StatusOr<HttpAnswer> Send(const Call& call);
  // `doing`: "write a/b". OK for what is.
  absl::Status Judge(const std::string& doing, const HttpAnswer& answer) const;
  // Of an answer to a call for a range: those bytes, fewer where the object ends.
  absl::StatusOr<std::string> TakeRange(const std::string& doing, HttpAnswer answer, int64_t offset,
                                        int64_t length) const;
  // Both; an answer that is good.
  absl::StatusOr<HttpAnswer> Ask(const std::string& doing, const Call& call);

 private:
  absl::StatusOr<HttpAnswer> SendOnce(const Call& call);

  std::string address_;
  std::string host_;
  const std::string name_;
  const std::unique_ptr<Signer> signer_;
  const Patience patience_;
  HttpClient http_;
};

// Keys as they come, page by page.
class Listing {
 public:
  // `next`: what the further page is asked for with; empty behind the last. Fails for a list
  // without an end.
  absl::Status Add(std::vector<std::string> keys, const std::string& next);
  const std::string& next() const { return next_; }
  std::vector<std::string> Take() { return std::move(keys_); }

 private:
  static constexpr size_t kMostKeys = 1'000'000;
  std::vector<std::string> keys_;
  std::string next_;
};

// The parts of a file, in order: `put(number, content)`, from 1 on. Larger than kPartSize where
// there would be too many.
absl::Status InParts(const std::string& path,
                     const std::function<absl::Status(int number, absl::string_view content)>& put);
// A small file, whole: at most kPartSize. Empty optional: it is larger.
absl::StatusOr<std::optional<std::string>> ReadSmall(const std::string& path);

// "bytes=5-9"
std::string RangeOf(int64_t offset, int64_t length);

}  // namespace det::objects

#endif  // BASE_OBJECTS_SERVICE_H_
