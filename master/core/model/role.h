// Roles and their IDs. permission.h states what each role may do.
// PURE.
#ifndef MASTER_CORE_MODEL_ROLE_H_
#define MASTER_CORE_MODEL_ROLE_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace det::model {

// The four basic roles, from the fewest permissions to the most; each includes the one above it.
enum class Role {
  kNone,
  kViewer,          // may read
  kEditor,          // may create, change and stop experiments, tasks, models and templates
  kWorkspaceAdmin,  // may change the workspace, its projects and its role assignments
  kClusterAdmin,    // may change users, agents, pools and policies
};

// "Viewer", "Editor", "WorkspaceAdmin", "ClusterAdmin"; "" for none.
constexpr std::string_view ToString(Role role) {
  switch (role) {
    case Role::kNone:
      return "";
    case Role::kViewer:
      return "Viewer";
    case Role::kEditor:
      return "Editor";
    case Role::kWorkspaceAdmin:
      return "WorkspaceAdmin";
    case Role::kClusterAdmin:
      return "ClusterAdmin";
  }
  return "";
}

// Nullopt if the text is not the name of a role.
constexpr std::optional<Role> ParseRole(std::string_view text) {
  for (const Role role :
       {Role::kNone, Role::kViewer, Role::kEditor, Role::kWorkspaceAdmin, Role::kClusterAdmin}) {
    if (ToString(role) == text) return role;
  }
  return std::nullopt;
}

// Identifies a role: one of the ten built-in roles, by the number that existing clients use, or a
// role that an administrator created.
class RoleId {
 public:
  static constexpr int32_t kFirstCreated = 100;

  constexpr RoleId() = default;
  constexpr explicit RoleId(int32_t value) : value_(value) {}
  constexpr RoleId(Role role) : value_(GetNumber(role)) {}  // NOLINT: a Role is a role

  constexpr int32_t value() const { return value_; }
  constexpr bool is_created() const { return value_ >= kFirstCreated; }
  friend constexpr bool operator==(RoleId, RoleId) = default;
  friend constexpr auto operator<=>(RoleId, RoleId) = default;

 private:
  static constexpr int32_t GetNumber(Role role) {
    switch (role) {
      case Role::kNone:
        return 0;
      case Role::kClusterAdmin:
        return 1;
      case Role::kWorkspaceAdmin:
        return 2;
      case Role::kViewer:
        return 4;
      case Role::kEditor:
        return 5;
    }
    return 0;
  }

  int32_t value_ = 0;
};

// Returns kNone for other roles than the four basic ones.
constexpr Role ToRole(RoleId id) {
  for (const Role role :
       {Role::kViewer, Role::kEditor, Role::kWorkspaceAdmin, Role::kClusterAdmin}) {
    if (RoleId(role) == id) return role;
  }
  return Role::kNone;
}

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_ROLE_H_
