// A temporary access token, which is cached expires shortly before it expires.
#ifndef BASE_OBJECTS_CACHED_TOKEN_H_
#define BASE_OBJECTS_CACHED_TOKEN_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/objects/http.h"

namespace det::objects {

struct ExpiringToken {
  std::string token;
  absl::Time expires;
};

class CachedToken {
 public:
  using Fetch = std::function<absl::StatusOr<ExpiringToken>(HttpClient& http, absl::Time now)>;

  explicit CachedToken(Fetch fetch) : fetch_(std::move(fetch)) {}

  absl::StatusOr<std::string> Get(absl::Time now);
  void Invalidate() { token_.expires = absl::InfinitePast(); }

 private:
  const Fetch fetch_;
  ExpiringToken token_ = {"", absl::InfinitePast()};
  HttpClient http_;
};

// Parses a response {"access_token": ..., "expires_in": seconds}; the seconds may be a string.
// `server` is the name of the server, for error messages.
absl::StatusOr<ExpiringToken> ParseTokenResponse(const std::string& server,
                                                 const absl::StatusOr<HttpResponse>& response,
                                                 absl::Time now);

// Fetches a token for Google Cloud Storage; docs/checkpoint-storage.md lists the sources. Returns
// an empty token for an emulator that needs none.
absl::StatusOr<ExpiringToken> FetchGoogleToken(HttpClient& http, absl::Time now);
// Fetches a token for the identity of this machine, for Azure Blob Storage.
absl::StatusOr<ExpiringToken> FetchAzureToken(HttpClient& http, absl::Time now);

}  // namespace det::objects

#endif  // BASE_OBJECTS_CACHED_TOKEN_H_
