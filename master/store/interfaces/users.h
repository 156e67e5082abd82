// Users and their dashboard settings: plain records, one transaction each. Reached through
// Store::users(). Their roles are in access.h.
// Any thread; blocks.
#ifndef MASTER_STORE_INTERFACES_USERS_H_
#define MASTER_STORE_INTERFACES_USERS_H_

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
#include "master/store/interfaces/agent_user.h"
#include "master/store/interfaces/window.h"
#include "master/store/interfaces/workspaces.h"

namespace det::store {

struct UserRecord {
  model::UserId id;
  std::string username;
  std::string password_hash;  // argon2id text; empty: cannot log in with a password
  bool admin = false;
  bool active = true;
  std::string display_name;
  bool remote = false;  // authenticates with an external provider
  std::optional<AgentUser> agent_user;
  absl::Time modified_at;
  std::optional<absl::Time> last_auth_at;
  friend bool operator==(const UserRecord&, const UserRecord&) = default;
};

// Only the fields that are set are changed.
struct UserPatch {
  std::optional<std::string> username;
  std::optional<std::string> password_hash;
  std::optional<bool> admin;
  std::optional<bool> active;
  std::optional<std::string> display_name;
  std::optional<bool> remote;
  std::optional<AgentUser> agent_user;
};

struct UserQuery {
  enum class Sort {
    kId,
    kUsername,
    kDisplayName,
    kAdmin,
    kActive,
    kModifiedAt,
    kLastAuthAt,
    kRemote
  };
  Window window;
  Sort sort = Sort::kId;
  bool descending = false;
  std::string name;  // substring of the name or display name, case-insensitive
  std::optional<bool> active;
  std::optional<bool> admin;
  std::vector<model::RoleId> roles;  // users with one of these roles in any workspace; empty: all
};
struct UserPage {
  std::vector<UserRecord> users;
  int total = 0;
};

struct UserSetting {
  std::string storage_path;
  std::string key;
  std::string value;
  friend bool operator==(const UserSetting&, const UserSetting&) = default;
};

class Users {
 public:
  virtual ~Users() = default;

  // NOT_FOUND if there is no such user. Names are case-insensitive.
  virtual absl::StatusOr<UserRecord> GetUser(model::UserId id) = 0;
  virtual absl::StatusOr<UserRecord> GetUserByName(const std::string& username) = 0;
  virtual absl::StatusOr<UserPage> ListUsers(const UserQuery& query) = 0;
  // Assigns the id. `role`: the user's role in the workspace Uncategorized. ALREADY_EXISTS if the
  // name is taken.
  virtual absl::StatusOr<UserRecord> AddUser(const UserRecord& user, model::Role role) = 0;
  absl::StatusOr<UserRecord> AddUser(const UserRecord& user) {
    return AddUser(user, model::Role::kNone);
  }
  // Sets modified_at to `now`. NOT_FOUND; ALREADY_EXISTS if the name is taken; FAILED_PRECONDITION
  // if no active administrator would be left.
  virtual absl::StatusOr<UserRecord> ChangeUser(model::UserId id, const UserPatch& patch,
                                                absl::Time now) = 0;
  // Returns OK if the user does not exist.
  virtual absl::Status RecordLogin(model::UserId id, absl::Time at) = 0;

  // Sorted by path and key.
  virtual absl::StatusOr<std::vector<UserSetting>> ListSettings(model::UserId id) = 0;
  // Adds or replaces each setting; an empty value removes it.
  virtual absl::Status PutSettings(model::UserId id, const std::vector<UserSetting>& settings) = 0;
  virtual absl::Status DropSettings(model::UserId id) = 0;
};

// Errors that all implementations return.
inline absl::Status NoSuchUser(absl::string_view name) {
  return absl::NotFoundError(absl::StrCat("user ", name, " not found; `det user list` shows all"));
}
inline absl::Status NoSuchUser(model::UserId id) { return NoSuchUser(ToString(id)); }
inline absl::Status UserExists(const std::string& name) {
  return absl::AlreadyExistsError(
      absl::StrCat("another user is named ", name, "; choose another name"));
}
inline absl::Status LastAdministrator() {
  return absl::FailedPreconditionError(
      "no active administrator would be left; make another user an administrator first");
}

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_USERS_H_
