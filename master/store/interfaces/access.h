// Sessions, access tokens, and who holds which role: plain records, one transaction each. Reached
// by Store::access().
// Any thread; blocks. Never sees a token, only its hash.
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
  int32_t id = 0;          // given by the store
  std::string token_hash;  // SHA-256, hex; the token itself is never stored
  Kind kind = Kind::kUser;
  model::UserId user;  // but of kAgent
  std::optional<absl::Time> expires_at;
  // Of kAccess alone:
  std::string description;
  model::Role limit = model::Role::kNone;  // no more than this; kNone: as its user
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
  std::optional<model::UserId> user;    // of this one alone
  std::optional<absl::Time> active_at;  // without those revoked, or expired by then
};
struct TokenPage {
  std::vector<SessionRecord> tokens;
  int total = 0;
};

// Workspace 0: the cluster, hence all workspaces.
struct RoleAssignment {
  model::UserId user;
  int32_t workspace = 0;
  model::Role role = model::Role::kViewer;
  friend bool operator==(const RoleAssignment&, const RoleAssignment&) = default;
  friend auto operator<=>(const RoleAssignment&, const RoleAssignment&) = default;
};

class Access {
 public:
  virtual ~Access() = default;

  // Adds or, by the hash, replaces it; returns its id.
  virtual absl::StatusOr<int32_t> PutSession(const SessionRecord& session) = 0;
  // NOT_FOUND for a token that is unknown, revoked or expired.
  virtual absl::StatusOr<SessionRecord> GetSession(const std::string& token_hash,
                                                   absl::Time now) = 0;
  // Gone is gone: OK when there is none. Access tokens stay: they are revoked.
  virtual absl::Status DeleteSession(const std::string& token_hash) = 0;
  // After a change of password: the user's logins, but `keep` (a hash; may be empty) and those that
  // never end, which are of files on the master's machine.
  virtual absl::Status DeleteLogins(model::UserId user, const std::string& keep) = 0;
  // Of a user who is no longer active: all logins, all access tokens.
  virtual absl::Status DeleteSessionsOf(model::UserId user) = 0;
  virtual absl::Status NoteUse(const std::string& token_hash, absl::Time at) = 0;

  virtual absl::StatusOr<TokenPage> ListTokens(const TokenQuery& query) = 0;
  // NOT_FOUND. What is set changes; what is revoked stays so.
  virtual absl::StatusOr<SessionRecord> ChangeToken(int32_t id,
                                                    const std::optional<std::string>& description,
                                                    bool revoke) = 0;

  // By workspace and role.
  virtual absl::StatusOr<std::vector<RoleAssignment>> RolesOf(model::UserId user) = 0;
  // By user and role.
  virtual absl::StatusOr<std::vector<RoleAssignment>> RolesIn(int32_t workspace) = 0;
  // OK when it is there, or gone, already.
  virtual absl::Status AddRole(const RoleAssignment& assignment) = 0;
  virtual absl::Status RemoveRole(const RoleAssignment& assignment) = 0;
};

// What all implementations say.
inline absl::Status NoSuchSession() {
  return absl::NotFoundError("no session has this token; log in again");
}
inline absl::Status NoSuchToken(int32_t id) {
  return absl::NotFoundError(
      absl::StrCat("access token ", id, " does not exist; `det token list` shows all"));
}

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_ACCESS_H_
