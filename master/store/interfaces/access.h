// Sessions, access tokens and role assignments: plain records, one transaction each. Reached
// through Store::access().
// Any thread; blocks. Stores only hashes of tokens, never a token.
#ifndef MASTER_STORE_INTERFACES_ACCESS_H_
#define MASTER_STORE_INTERFACES_ACCESS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "master/core/model/ids.h"
#include "master/core/model/role.h"
#include "master/store/interfaces/window.h"

namespace det::store {

struct SessionRecord {
  enum class Kind {
    kUser,    // a login
    kAccess,  // an access token of a user: listed, described, revoked
    kAgent,
  };
  int32_t id = 0;          // assigned by the store
  std::string token_hash;  // SHA-256, hex; the token itself is never stored
  Kind kind = Kind::kUser;
  model::UserId user;  // unset for kAgent
  std::optional<absl::Time> expires_at;
  // Only for kAccess:
  std::string description;
  model::Role limit = model::Role::kNone;  // maximum role; kNone: the user's roles
  absl::Time created_at;
  std::optional<absl::Time> last_used_at;
  bool revoked = false;
};

struct TokenQuery {
  enum class Sort { kId, kUser, kExpiry, kCreatedAt, kRevoked, kDescription };
  Window window;
  Sort sort = Sort::kId;
  bool descending = false;
  std::vector<int32_t> ids;             // empty: all
  std::optional<model::UserId> user;    // only this user's
  std::optional<absl::Time> active_at;  // only tokens that are valid at this time
};
struct TokenPage {
  std::vector<SessionRecord> tokens;
  int total = 0;
};

// Workspace 0 is the cluster: the role holds in all workspaces.
struct RoleAssignment {
  model::UserId user;
  int32_t workspace = 0;
  model::RoleId role;
  friend bool operator==(const RoleAssignment&, const RoleAssignment&) = default;
  friend auto operator<=>(const RoleAssignment&, const RoleAssignment&) = default;
};

class Access {
 public:
  virtual ~Access() = default;

  // Adds the session, or replaces the one with the same hash. Returns its id.
  virtual absl::StatusOr<int32_t> PutSession(const SessionRecord& session) = 0;
  // NOT_FOUND for a token that is unknown, revoked or expired.
  virtual absl::StatusOr<SessionRecord> GetSession(const std::string& token_hash,
                                                   absl::Time now) = 0;
  // Returns OK if there is no such session. Access tokens are revoked instead of deleted.
  virtual absl::Status DeleteSession(const std::string& token_hash) = 0;
  // Deletes the user's logins after a change of password, except `keep` (a hash; may be empty) and
  // sessions without expiry, whose tokens are in files on the master's machine.
  virtual absl::Status DeleteLogins(model::UserId user, const std::string& keep) = 0;
  // Deletes all logins and access tokens of a user who was deactivated.
  virtual absl::Status DeleteUserSessions(model::UserId user) = 0;
  virtual absl::Status RecordUse(const std::string& token_hash, absl::Time at) = 0;

  virtual absl::StatusOr<TokenPage> ListTokens(const TokenQuery& query) = 0;
  // Changes the description if it is set, and revokes the token if `revoke`; a revoked token stays
  // revoked. NOT_FOUND if there is no such token.
  virtual absl::StatusOr<SessionRecord> ChangeToken(int32_t id,
                                                    const std::optional<std::string>& description,
                                                    bool revoke) = 0;

  // Sorted by workspace and role.
  virtual absl::StatusOr<std::vector<RoleAssignment>> GetUserRoles(model::UserId user) = 0;
  // Sorted by user and role.
  virtual absl::StatusOr<std::vector<RoleAssignment>> GetWorkspaceRoles(int32_t workspace) = 0;
  // Both return OK if there is nothing to change.
  virtual absl::Status AddRole(const RoleAssignment& assignment) = 0;
  virtual absl::Status RemoveRole(const RoleAssignment& assignment) = 0;
};

// Errors that all implementations return.
inline absl::Status NoSuchSession() {
  return absl::NotFoundError("no session has this token; log in again");
}
inline absl::Status NoSuchToken(int32_t id) {
  return absl::NotFoundError(
      absl::StrCat("access token ", id, " not found; `det token list` shows all"));
}

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_ACCESS_H_
