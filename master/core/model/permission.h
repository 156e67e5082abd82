// Permissions, and the built-in roles as sets of them. One table decides what a role may do, what
// the API lists of it, and in which scope it can be assigned. PURE.
#ifndef MASTER_CORE_MODEL_PERMISSION_H_
#define MASTER_CORE_MODEL_PERMISSION_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "master/core/model/role.h"

namespace det::model {

// The numbers are those of det.api.v1.PermissionType.
enum class Permission {
  kNone = 0,
  kViewExperimentArtifacts = 1,
  kViewExperimentMetadata = 2,
  kViewNsc = 3,
  kViewWorkspace = 4,
  kViewProject = 5,
  kViewModelRegistry = 6,
  kViewTemplates = 7,
  kViewResourceQuotas = 8,
  kViewClusterUsage = 9,
  kViewGlobalConfigPolicies = 10,
  kViewWorkspaceConfigPolicies = 11,
  kCreateExperiment = 20,
  kUpdateExperiment = 21,
  kUpdateExperimentMetadata = 22,
  kDeleteExperiment = 23,
  kCreateNsc = 24,
  kUpdateNsc = 25,
  kCreateWorkspace = 26,
  kCreateModelRegistry = 27,
  kEditModelRegistry = 28,
  kDeleteModelRegistry = 29,
  kDeleteModelVersion = 30,
  kCreateTemplates = 31,
  kUpdateTemplates = 32,
  kDeleteTemplates = 33,
  kCreateToken = 34,
  kUpdateToken = 35,
  kViewToken = 36,
  kViewWebhooks = 37,
  kDeleteOtherUserModelRegistry = 38,
  kDeleteOtherUserModelVersion = 39,
  kUpdateWorkspace = 50,
  kDeleteWorkspace = 51,
  kSetWorkspaceAgentUserGroup = 52,
  kSetWorkspaceCheckpointStorageConfig = 53,
  kSetWorkspaceDefaultResourcePool = 54,
  kCreateProject = 55,
  kUpdateProject = 56,
  kDeleteProject = 57,
  kAssignRoles = 58,
  kEditWebhooks = 59,
  kModifyWorkspaceConfigPolicies = 60,
  kAdministrateUser = 80,
  kAdministrateToken = 81,
  kUpdateAgents = 82,
  kViewSensitiveAgentInfo = 83,
  kViewMasterLogs = 84,
  kViewMasterConfig = 85,
  kUpdateMasterConfig = 86,
  kModifyRpWorkspaceBindings = 87,
  kSetResourceQuotas = 88,
  kControlStrictJobQueue = 89,
  kViewExternalJobs = 90,
  kSetWorkspaceNamespaceBindings = 91,
  kModifyGlobalConfigPolicies = 92,
  kCreateOtherToken = 93,
  kViewOtherToken = 94,
  kAdministrateOauth = 95,
  kUpdateGroup = 96,
  kUpdateRoles = 97,
};

inline constexpr size_t kMaxPermissions = 128;

class PermissionSet {
 public:
  bool contains(Permission permission) const { return bits_.test(static_cast<size_t>(permission)); }
  bool empty() const { return bits_.none(); }
  bool includes(const PermissionSet& other) const { return (other.bits_ & ~bits_).none(); }
  void insert(Permission permission) { bits_.set(static_cast<size_t>(permission)); }
  void erase(Permission permission) { bits_.reset(static_cast<size_t>(permission)); }
  PermissionSet& operator|=(const PermissionSet& other) {
    bits_ |= other.bits_;
    return *this;
  }
  friend PermissionSet operator&(PermissionSet a, const PermissionSet& b) {
    a.bits_ &= b.bits_;
    return a;
  }
  friend bool operator==(const PermissionSet&, const PermissionSet&) = default;

 private:
  std::bitset<kMaxPermissions> bits_;
};

struct PermissionInfo {
  Permission permission;
  std::string_view api_name;  // "CREATE_EXPERIMENT"
  std::string_view name;      // "create experiment"
  // The lowest of the roles Viewer, Editor, WorkspaceAdmin and ClusterAdmin that has it.
  Role role;
  // A role that lists it cannot be assigned in a workspace.
  bool cluster_only;
  uint32_t restricted_roles;  // bit masks of the other built-in roles that have it
};

// All permissions, in the order in which the API lists them.
std::span<const PermissionInfo> GetPermissionInfos();
// `permission` must not be kNone.
const PermissionInfo& GetInfo(Permission permission);
// Returns nullopt for a number that is not a permission.
std::optional<Permission> ToPermission(int number);
// Finds a permission by its api_name.
std::optional<Permission> ParsePermission(std::string_view api_name);

// The built-in roles besides those of enum Role.
inline constexpr RoleId kWorkspaceCreator(3);
inline constexpr RoleId kModelRegistryViewer(6);
inline constexpr RoleId kEditorRestricted(7);
inline constexpr RoleId kGenAiUser(8);
inline constexpr RoleId kEditorProjectRestricted(9);
inline constexpr RoleId kTokenCreator(10);

struct BuiltInRole {
  RoleId id;
  std::string_view name;
};
// Sorted by name.
std::span<const BuiltInRole> GetBuiltInRoles();

// What a built-in role may do; empty for a created role.
const PermissionSet& GetPermissions(RoleId role);
// What the API lists of a role with these permissions: an Editor may create workspaces and access
// tokens, but permissions of the cluster are listed only for roles that can be assigned only there.
PermissionSet GetListedPermissions(RoleId role, const PermissionSet& permissions);
// Whether a role with these listed permissions can be assigned in a workspace.
bool IsAssignableInWorkspace(const PermissionSet& listed);

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_PERMISSION_H_
