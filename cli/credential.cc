#include "cli/credential.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace det::cli {

Credential::Credential(std::string token, Renew renew)
    : token_(std::move(token)), renew_(std::move(renew)) {}

std::string Credential::token() const {
  const std::lock_guard lock(mutex_);
  return token_;
}

absl::Status Credential::Replace(const std::string& refused, const absl::Status& refusal) {
  const std::lock_guard lock(mutex_);
  if (token_ != refused) return absl::OkStatus();
  if (renew_ == nullptr) {
    return absl::UnauthenticatedError(
        absl::StrCat("the master rejected the token (", refusal.message(),
                     "); sign in with `det user login`, or set DET_USER_TOKEN"));
  }
  const Renew renew = std::exchange(renew_, nullptr);
  DET_ASSIGN_OR_RETURN(token_, renew(refusal));
  return absl::OkStatus();
}

}  // namespace det::cli
