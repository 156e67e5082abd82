// The token that calls are authenticated with, and how to replace it when the master rejects it.
// Created once per command; used by ApiClient on any thread.
#ifndef CLI_CREDENTIAL_H_
#define CLI_CREDENTIAL_H_

#include <functional>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"

namespace det::cli {

class Credential {
 public:
  // Returns a new token after the master rejected the old one, or UNAUTHENTICATED with
  // instructions.
  using Renew = std::function<absl::StatusOr<std::string>(const absl::Status& refusal)>;

  // An empty token means that no user is signed in yet.
  explicit Credential(std::string token, Renew renew = nullptr);

  std::string token() const;

  // Called after `refused` was rejected. Returns OK if there is another token now. Renews at most
  // once; other threads wait for the renewal.
  absl::Status Replace(const std::string& refused, const absl::Status& refusal);

 private:
  mutable std::mutex mutex_;
  std::string token_;
  Renew renew_;
};

}  // namespace det::cli

#endif  // CLI_CREDENTIAL_H_
