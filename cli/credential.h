// Whom calls are made as: a token, and how to get another one when the master refuses it.
// Made once per command; used by ApiClient on any thread.
#ifndef CLI_CREDENTIAL_H_
#define CLI_CREDENTIAL_H_

#include <functional>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"

namespace det::cli {

class Credential {
 public:
  // Gets another token after the master's refusal; UNAUTHENTICATED says what to do instead.
  using Renew = std::function<absl::StatusOr<std::string>(const absl::Status& refusal)>;

  // An empty token: nobody, so far.
  explicit Credential(std::string token, Renew renew = nullptr);

  std::string token() const;

  // After `refused` was: OK when there is another one now. Renews once at most; other threads wait
  // for the one that does.
  absl::Status Replace(const std::string& refused, const absl::Status& refusal);

 private:
  mutable std::mutex mutex_;
  std::string token_;
  Renew renew_;
};

}  // namespace det::cli

#endif  // CLI_CREDENTIAL_H_
