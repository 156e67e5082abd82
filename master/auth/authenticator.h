// From an Authorization header to a principal.
//
// Called by the services' threads; reads the store, hence may block. Remembers good tokens for a
// short while.
#ifndef MASTER_AUTH_AUTHENTICATOR_H_
#define MASTER_AUTH_AUTHENTICATOR_H_

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "master/auth/permissions.h"
#include "master/auth/tokens.h"
#include "master/store/store.h"

namespace det::auth {

class Authenticator {
 public:
  // Both must outlive it.
  Authenticator(store::Store* store, const base::Clock* clock, AllocationTokens allocation_tokens);

  // An empty header is nobody. UNAUTHENTICATED for a header that is not `Bearer <token>` and for a
  // token that is unknown or has expired.
  absl::StatusOr<Principal> Authenticate(std::string_view header);

  // Authenticates for `method` and authorises; a method that is open to all looks at no token.
  absl::StatusOr<Principal> Admit(std::string_view method, std::string_view header);

  // Ends a session now.
  absl::Status Forget(const std::string& token_hash);

  const AllocationTokens& allocation_tokens() const { return allocation_tokens_; }

 private:
  struct Known {
    Principal principal;
    absl::Time until;
  };

  store::Store* const store_;
  const base::Clock* const clock_;
  const AllocationTokens allocation_tokens_;
  std::mutex mutex_;
  std::map<std::string, Known, std::less<>> known_;  // by token hash
};

}  // namespace det::auth

#endif  // MASTER_AUTH_AUTHENTICATOR_H_
