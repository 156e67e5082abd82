// Who may call which method: one table.
//
// Asked by service/call.h and agents/agent_hub.cc for every call, on any thread. PURE.
#ifndef MASTER_AUTH_PERMISSIONS_H_
#define MASTER_AUTH_PERMISSIONS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "master/model/ids.h"
#include "master/model/role.h"

namespace det::auth {

enum class PrincipalKind {
  kNobody,      // no token
  kUser,        // a person's session
  kAgent,       // an agent of the cluster
  kAllocation,  // a running task, for itself
};

// Who is asking.
struct Principal {
  PrincipalKind kind = PrincipalKind::kNobody;
  model::UserId user;                      // kUser
  bool admin = false;                      // kUser, unless its token says less
  model::Role limit = model::Role::kNone;  // kUser, by an access token: no more; kNone: as the user
  int32_t access_token = 0;                // the number of that token; 0: a login
  model::AllocationId allocation;          // kAllocation
  std::string token_hash;                  // kUser: of the session
  friend bool operator==(const Principal&, const Principal&) = default;
};

// What a method asks for; `method` is its full name, "det.api.v1.TrialService.GetTrial". Nothing of
// an unknown service is open: it asks for what nobody has.
struct Requirement {
  PrincipalKind kind = PrincipalKind::kNobody;
  bool admin = false;   // of users, administrators alone
  bool anyone = false;  // also without a token
  bool nobody = false;  // refused to all
};
Requirement RequirementOf(std::string_view method);

// UNAUTHENTICATED without a token where one is needed; PERMISSION_DENIED for a token of another
// kind, or of a user who is no administrator where that is asked for.
absl::Status Authorize(std::string_view method, const Principal& principal);

}  // namespace det::auth

#endif  // MASTER_AUTH_PERMISSIONS_H_
