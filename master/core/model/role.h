// Roles, from the fewest permissions to the most; each role includes the one above it.
// PURE.
#ifndef MASTER_CORE_MODEL_ROLE_H_
#define MASTER_CORE_MODEL_ROLE_H_

#include <optional>
#include <string_view>

namespace det::model {

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

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_ROLE_H_
