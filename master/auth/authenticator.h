// From an Authorization header to a principal.
//
// Called by the services' threads; reads the store, hence may block. Remembers good tokens for a
// short while.
#ifndef MASTER_AUTH_AUTHENTICATOR_H_
#define MASTER_AUTH_AUTHENTICATOR_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "master/auth/permissions.h"
#include "master/auth/tokens.h"
#include "master/store/interfaces/store.h"

namespace det::auth {

class Authenticator {
 public:
  // Both must outlive it.
  Authenticator(store::Store* store, const base::Clock* clock, AllocationTokens allocation_tokens);

  // An empty header is nobody. UNAUTHENTICATED for a header that is not `Bearer <token>`, for a
  // token that is unknown, revoked or has expired, and for one of a user who is not active.
  absl::StatusOr<Principal> Authenticate(std::string_view header);

  // Authenticates for `method` and authorises; a method that is open to all looks at no token.
  absl::StatusOr<Principal> Admit(std::string_view method, std::string_view header);

  // Ends a session now; not an access token.
  absl::Status Forget(const std::string& token_hash);

  // Asks the store again at the next call by a token of this user: whatever has changed of the user
  // or of their tokens counts from then on.
  void Recheck(model::UserId user);

  const AllocationTokens& allocation_tokens() const { return allocation_tokens_; }

 private:
  struct Known {
    Principal principal;
    absl::Time until;
  };

  absl::StatusOr<Principal> Ask(const std::string& hash, absl::Time now);
  absl::StatusOr<Principal> PrincipalOf(const store::SessionRecord& session);
  void NoteUse(const store::SessionRecord& session, absl::Time now);

  store::Store* const store_;
  const base::Clock* const clock_;
  const AllocationTokens allocation_tokens_;
  std::mutex mutex_;
  std::map<std::string, Known, std::less<>> known_;  // by token hash
  int64_t forgotten_ = 0;  // what was read before it last rose may be old, and is not kept
};

}  // namespace det::auth

#endif  // MASTER_AUTH_AUTHENTICATOR_H_
