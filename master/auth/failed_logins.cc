#include "master/auth/failed_logins.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace det::auth {

absl::Duration FailedLogins::GetDelay(const std::string& username, absl::Time now) const {
  const auto it = users_.find(absl::AsciiStrToLower(username));
  if (it == users_.end() || now - it->second.last > kForgetAfter) return absl::ZeroDuration();
  const int beyond = it->second.in_a_row - kFreeFailures;
  if (beyond < 0) return absl::ZeroDuration();
  // Ten doublings exceed kMaxDelay.
  return std::min(kInitialDelay * (1 << std::min(beyond, 10)), kMaxDelay);
}

void FailedLogins::Failed(const std::string& username, absl::Time now) {
  const std::string name = absl::AsciiStrToLower(username);
  if (!users_.contains(name) && users_.size() >= kMaxUsers) Forget(now);
  Failures& failures = users_[name];
  if (now - failures.last > kForgetAfter) failures.in_a_row = 0;
  ++failures.in_a_row;
  failures.last = now;
}

void FailedLogins::Succeeded(const std::string& username) {
  users_.erase(absl::AsciiStrToLower(username));
}

void FailedLogins::Forget(absl::Time now) {
  std::erase_if(users_, [&](const auto& item) { return now - item.second.last > kForgetAfter; });
  if (users_.size() < kMaxUsers) return;
  // Too many names were made up: drops those with the fewest failures, so that real targets stay
  // delayed.
  const auto least = std::min_element(
      users_.begin(), users_.end(),
      [](const auto& a, const auto& b) { return a.second.in_a_row < b.second.in_a_row; });
  users_.erase(least);
}

}  // namespace det::auth
