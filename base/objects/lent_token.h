// A token that somebody lends for a while, kept until shortly before its end.
#ifndef BASE_OBJECTS_LENT_TOKEN_H_
#define BASE_OBJECTS_LENT_TOKEN_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/objects/http.h"

namespace det::objects {

struct Lent {
  std::string token;
  absl::Time until;
};

class LentToken {
 public:
  using Ask = std::function<absl::StatusOr<Lent>(HttpClient& http, absl::Time now)>;

  explicit LentToken(Ask ask) : ask_(std::move(ask)) {}

  absl::StatusOr<std::string> Get(absl::Time now);
  void Forget() { lent_.until = absl::InfinitePast(); }

 private:
  const Ask ask_;
  Lent lent_ = {"", absl::InfinitePast()};
  HttpClient http_;
};

// Of an answer {"access_token": ..., "expires_in": seconds}; the seconds may be text.
absl::StatusOr<Lent> LentOf(const std::string& who, const absl::StatusOr<HttpAnswer>& answer,
                            absl::Time now);

// For Google Cloud Storage: docs/checkpoint-storage.md. An empty token where an emulator asks for
// none.
absl::StatusOr<Lent> AskGoogle(HttpClient& http, absl::Time now);
// The identity of this machine, for Azure's storage.
absl::StatusOr<Lent> AskAzure(HttpClient& http, absl::Time now);

}  // namespace det::objects

#endif  // BASE_OBJECTS_LENT_TOKEN_H_
