// What users may, from least to most; each role includes the one above it.
// PURE.
#ifndef MASTER_CORE_MODEL_ROLE_H_
#define MASTER_CORE_MODEL_ROLE_H_

#include <optional>
#include <string_view>

namespace det::model {

enum class Role {
  kNone,
  kViewer,          // reads
  kEditor,          // and creates, changes, ends: experiments, tasks, models, templates
  kWorkspaceAdmin,  // and the workspace itself: its projects, and who may what in it
  kClusterAdmin,    // and what belongs to no workspace: users, agents, pools, policies
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

// Nothing for a text that names no role.
constexpr std::optional<Role> ParseRole(std::string_view text) {
  for (const Role role :
       {Role::kNone, Role::kViewer, Role::kEditor, Role::kWorkspaceAdmin, Role::kClusterAdmin}) {
    if (ToString(role) == text) return role;
  }
  return std::nullopt;
}

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_ROLE_H_
