// Groups of users, the roles that administrators created, and the assignments of roles to groups:
// plain records, one transaction each. Reached through Store::groups(). The roles of users are in
// access.h.
//
// Any thread; blocks.
#ifndef MASTER_STORE_INTERFACES_GROUPS_H_
#define MASTER_STORE_INTERFACES_GROUPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "master/core/model/ids.h"
#include "master/core/model/permission.h"
#include "master/core/model/role.h"
#include "master/store/interfaces/access.h"
#include "master/store/interfaces/window.h"

namespace det::store {

struct GroupRecord {
  int32_t id = 0;  // assigned by the store; not reused
  std::string name;
  std::vector<model::UserId> members;  // sorted
  friend bool operator==(const GroupRecord&, const GroupRecord&) = default;
};

struct GroupQuery {
  Window window;
  std::string name;                   // exactly this name; empty: all
  std::optional<model::UserId> user;  // only groups with this member
};
struct GroupPage {
  std::vector<GroupRecord> groups;  // by id
  int total = 0;
};

struct GroupPatch {
  std::optional<std::string> name;
  std::vector<model::UserId> add;
  std::vector<model::UserId> remove;
};

// Workspace 0 is the cluster.
struct GroupRole {
  int32_t group = 0;
  int32_t workspace = 0;
  model::RoleId role;
  friend bool operator==(const GroupRole&, const GroupRole&) = default;
  friend auto operator<=>(const GroupRole&, const GroupRole&) = default;
};

// A role that an administrator created.
struct RoleRecord {
  model::RoleId id;  // assigned by the store, from RoleId::kFirstCreated on; not reused
  std::string name;
  model::PermissionSet permissions;
  friend bool operator==(const RoleRecord&, const RoleRecord&) = default;
};

class Groups {
 public:
  virtual ~Groups() = default;

  // ---- groups ----

  // ALREADY_EXISTS if the name is taken; NOT_FOUND if a member is not a user.
  virtual absl::StatusOr<GroupRecord> AddGroup(const std::string& name,
                                               const std::vector<model::UserId>& members) = 0;
  // NOT_FOUND.
  virtual absl::StatusOr<GroupRecord> GetGroup(int32_t id) = 0;
  virtual absl::StatusOr<GroupPage> ListGroups(const GroupQuery& query) = 0;
  // All or nothing. NOT_FOUND if the group or a user to add does not exist, or if none of the users
  // to remove is a member; ALREADY_EXISTS if the name is taken or a user to add is a member.
  virtual absl::StatusOr<GroupRecord> ChangeGroup(int32_t id, const GroupPatch& patch) = 0;
  // Also deletes its role assignments. NOT_FOUND.
  virtual absl::Status DeleteGroup(int32_t id) = 0;
  // Adds each user to the groups of `add`, where membership may exist, and removes each from those
  // of `remove`. All or nothing. NOT_FOUND if a user or a group does not exist, or if `remove` is
  // not empty and no user is a member of one of them.
  virtual absl::Status AssignGroups(const std::vector<model::UserId>& users,
                                    const std::vector<int32_t>& add,
                                    const std::vector<int32_t>& remove) = 0;

  // ---- assignments ----

  // Sorted by group, workspace and role.
  virtual absl::StatusOr<std::vector<GroupRole>> ListRolesOfGroup(int32_t group) = 0;
  virtual absl::StatusOr<std::vector<GroupRole>> ListRolesInWorkspace(int32_t workspace) = 0;
  // The roles of all groups of the user.
  virtual absl::StatusOr<std::vector<GroupRole>> ListRolesOfUser(model::UserId user) = 0;
  // Both change all or nothing, and return OK if there is nothing to change. AddRoles returns
  // NOT_FOUND if a user, group or created role does not exist.
  virtual absl::Status AddRoles(const std::vector<RoleAssignment>& users,
                                const std::vector<GroupRole>& groups) = 0;
  virtual absl::Status RemoveRoles(const std::vector<RoleAssignment>& users,
                                   const std::vector<GroupRole>& groups) = 0;
  // All assignments of one role.
  virtual absl::StatusOr<std::vector<RoleAssignment>> ListUsersWithRole(model::RoleId role) = 0;
  virtual absl::StatusOr<std::vector<GroupRole>> ListGroupsWithRole(model::RoleId role) = 0;

  // ---- created roles ----

  // Sorted by id.
  virtual absl::StatusOr<std::vector<RoleRecord>> ListRoles() = 0;
  // Assigns the id. ALREADY_EXISTS if another created role has the name.
  virtual absl::StatusOr<RoleRecord> AddRole(const RoleRecord& role) = 0;
  // NOT_FOUND; ALREADY_EXISTS.
  virtual absl::Status ChangeRole(const RoleRecord& role) = 0;
  // NOT_FOUND; FAILED_PRECONDITION if it is assigned.
  virtual absl::Status DeleteRole(model::RoleId id) = 0;
};

// "Editor", or "100" for a created role: how the database names a role.
std::string ToText(model::RoleId role);
// Nullopt if the text is not one that ToText returns.
std::optional<model::RoleId> ParseRoleId(std::string_view text);

// Errors that all implementations return.
inline absl::Status NoSuchGroup(int32_t id) {
  return absl::NotFoundError(
      absl::StrCat("group ", id, " not found; `det user-group list` shows all"));
}
inline absl::Status GroupExists(const std::string& name) {
  return absl::AlreadyExistsError(
      absl::StrCat("another group is named \"", name, "\"; choose another name"));
}
inline absl::Status AlreadyMember(model::UserId user) {
  return absl::AlreadyExistsError(
      absl::StrCat("user ", user.value(), " is already a member of the group"));
}
inline absl::Status NoMembers() {
  return absl::NotFoundError("none of the users to remove was found in the groups");
}
inline absl::Status UserNotFound(model::UserId user) {
  return absl::NotFoundError(
      absl::StrCat("user ", user.value(), " not found; `det user list` shows all"));
}
inline absl::Status NoSuchRole(model::RoleId role) {
  return absl::NotFoundError(
      absl::StrCat("role ", role.value(), " not found; `det rbac list-roles` shows all"));
}
inline absl::Status RoleExists(const std::string& name) {
  return absl::AlreadyExistsError(
      absl::StrCat("another role is named \"", name, "\"; choose another name"));
}
inline absl::Status RoleInUse(model::RoleId role) {
  return absl::FailedPreconditionError(
      absl::StrCat("role ", role.value(), " is assigned; remove its assignments first"));
}

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_GROUPS_H_
