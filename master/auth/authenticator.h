// Determines the principal of an Authorization header.
//
// Called on the services' threads; reads the store, hence may block. Caches valid tokens for a
// short time.
#ifndef MASTER_AUTH_AUTHENTICATOR_H_
#define MASTER_AUTH_AUTHENTICATOR_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "master/auth/permissions.h"
#include "master/auth/tokens.h"
#include "master/auth/user_roles.h"
#include "master/store/interfaces/store.h"

namespace det::auth {

class Authenticator {
 public:
  // Both pointers must outlive it.
  Authenticator(store::Store* store, const base::Clock* clock, AllocationTokens allocation_tokens,
                AuthzType type = AuthzType::kRbac);

  // An empty header gives PrincipalKind::kNobody. UNAUTHENTICATED if the header is not `Bearer
  // <token>`, if the token is unknown, revoked or expired, if its user is not active, or if it acts
  // as the owner of an allocation that has ended.
  absl::StatusOr<Principal> Authenticate(std::string_view header);

  // Authenticates and authorizes a call of `method`; a public method ignores the token.
  absl::StatusOr<Principal> Authorize(std::string_view method, std::string_view header);

  // Ends a session immediately. Not for access tokens.
  absl::Status EndSession(const std::string& token_hash);

  // Drops cached tokens of this user, so that changes of the user or of their tokens apply from the
  // next call.
  void InvalidateUser(model::UserId user);

  // Drops all cached tokens: a change of a group or role may concern any user.
  void InvalidateAll();

  // Returns the number of sessions ended and users invalidated so far. A principal that was
  // authenticated before the number changed may be stale.
  int64_t GetInvalidations() const;

  AuthzType type() const { return type_; }
  const AllocationTokens& allocation_tokens() const { return allocation_tokens_; }

 private:
  struct CachedSession {
    Principal principal;
    absl::Time until;
  };

  absl::StatusOr<Principal> FindPrincipal(const std::string& hash, absl::Time now);
  // The principal of the token with which an allocation acts as the owner of its experiment.
  absl::StatusOr<Principal> FindOwner(const model::AllocationId& allocation,
                                      const std::string& hash, absl::Time now);
  std::optional<Principal> FindCached(const std::string& hash, absl::Time now);
  // Caches the principal, unless something was invalidated since `invalidations` was read.
  void Cache(const std::string& hash, const Principal& principal, absl::Time until,
             int64_t invalidations);
  absl::StatusOr<Principal> MakePrincipal(const store::SessionRecord& session);
  absl::StatusOr<Principal> MakeUser(model::UserId id, model::Role limit);
  absl::StatusOr<std::vector<WorkspaceRole>> ReadRoles(model::UserId user);
  void RecordUse(const store::SessionRecord& session, absl::Time now);

  store::Store* const store_;
  const base::Clock* const clock_;
  const AllocationTokens allocation_tokens_;
  const AuthzType type_;
  mutable std::mutex mutex_;
  std::map<std::string, CachedSession, std::less<>> cache_;  // by token hash
  // Sessions that were read before it was incremented may be stale and are not cached.
  int64_t invalidations_ = 0;
};

}  // namespace det::auth

#endif  // MASTER_AUTH_AUTHENTICATOR_H_
