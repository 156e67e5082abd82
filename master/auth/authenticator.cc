#include "master/auth/authenticator.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace det::auth {
namespace {

// How long a session that was ended elsewhere may go on being good here.
constexpr absl::Duration kRemember = absl::Seconds(30);
constexpr size_t kMostRemembered = 10000;

}  // namespace

Authenticator::Authenticator(store::Store* store, const base::Clock* clock,
                             AllocationTokens allocation_tokens)
    : store_(store), clock_(clock), allocation_tokens_(std::move(allocation_tokens)) {}

absl::StatusOr<Principal> Authenticator::Authenticate(std::string_view header) {
  if (header.empty()) return Principal{};
  constexpr std::string_view kScheme = "Bearer ";
  if (header.size() <= kScheme.size() ||
      !absl::EqualsIgnoreCase(absl::string_view(header.data(), kScheme.size()),
                              absl::string_view(kScheme.data(), kScheme.size()))) {
    return absl::UnauthenticatedError("the Authorization header must be `Bearer <token>`");
  }
  const std::string_view token = header.substr(kScheme.size());
  if (std::optional<model::AllocationId> allocation = allocation_tokens_.Verify(token)) {
    return Principal{.kind = PrincipalKind::kAllocation, .allocation = *std::move(allocation)};
  }
  const std::string hash = HashToken(token);
  const absl::Time now = clock_->Now();
  {
    std::lock_guard lock(mutex_);
    const auto it = known_.find(hash);
    if (it != known_.end() && now < it->second.until) return it->second.principal;
  }
  absl::StatusOr<store::SessionRecord> session = store_->GetSession(hash, now);
  if (absl::IsNotFound(session.status())) {
    return absl::UnauthenticatedError("the token is not known or has expired; log in again");
  }
  if (!session.ok()) return session.status();
  Principal principal{.kind = session->kind == store::SessionRecord::Kind::kAgent
                                  ? PrincipalKind::kAgent
                                  : PrincipalKind::kUser,
                      .user = session->user,
                      .token_hash = hash};
  if (principal.kind == PrincipalKind::kUser) {
    const absl::StatusOr<store::UserRecord> user = store_->GetUser(session->user);
    if (!user.ok() && !absl::IsNotFound(user.status())) return user.status();
    if (user.ok()) {
      principal.name = user->username;
      principal.admin = user->admin;
      // Until roles are assigned, all work in the workspace that is always there.
      principal.roles = {{.workspace = 1, .role = model::Role::kEditor}};
    }
  }
  std::lock_guard lock(mutex_);
  if (known_.size() >= kMostRemembered) known_.clear();
  known_[hash] = {principal,
                  std::min(now + kRemember, session->expires_at.value_or(absl::InfiniteFuture()))};
  return principal;
}

absl::StatusOr<Principal> Authenticator::Admit(std::string_view method, std::string_view header) {
  if (RequirementOf(method).anyone) return Principal{};
  DET_ASSIGN_OR_RETURN(Principal principal, Authenticate(header));
  DET_RETURN_IF_ERROR(Authorize(method, principal));
  return principal;
}

absl::Status Authenticator::Forget(const std::string& token_hash) {
  DET_RETURN_IF_ERROR(store_->DeleteSession(token_hash));
  std::lock_guard lock(mutex_);
  known_.erase(token_hash);
  return absl::OkStatus();
}

}  // namespace det::auth
