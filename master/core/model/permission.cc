#include "master/core/model/permission.h"

#include <array>
#include <map>

namespace det::model {
namespace {

constexpr uint32_t kCreator = 1u << 3, kModels = 1u << 6, kRestricted = 1u << 7, kGenAi = 1u << 8,
                   kProject = 1u << 9, kTokens = 1u << 10;

constexpr PermissionInfo kInfos[] = {
    {Permission::kCreateExperiment, "CREATE_EXPERIMENT", "create experiment", Role::kEditor, false,
     kRestricted | kGenAi | kProject},
    {Permission::kUpdateExperiment, "UPDATE_EXPERIMENT", "update experiment", Role::kEditor, false,
     kRestricted | kGenAi | kProject},
    {Permission::kViewProject, "VIEW_PROJECT", "view project", Role::kViewer, false,
     kRestricted | kGenAi | kProject},
    {Permission::kUpdateRoles, "UPDATE_ROLES", "update roles", Role::kClusterAdmin, true, 0},
    {Permission::kUpdateExperimentMetadata, "UPDATE_EXPERIMENT_METADATA",
     "update experiment metadata", Role::kEditor, false, kRestricted | kGenAi | kProject},
    {Permission::kUpdateGroup, "UPDATE_GROUP", "update group", Role::kClusterAdmin, true, 0},
    {Permission::kCreateWorkspace, "CREATE_WORKSPACE", "create workspace", Role::kEditor, true,
     kCreator | kGenAi},
    {Permission::kDeleteWorkspace, "DELETE_WORKSPACE", "delete workspace", Role::kWorkspaceAdmin,
     false, 0},
    {Permission::kUpdateProject, "UPDATE_PROJECT", "update project", Role::kWorkspaceAdmin, false,
     kRestricted | kGenAi},
    {Permission::kDeleteProject, "DELETE_PROJECT", "delete project", Role::kWorkspaceAdmin, false,
     kGenAi},
    {Permission::kAssignRoles, "ASSIGN_ROLES", "assign roles", Role::kWorkspaceAdmin, false, 0},
    {Permission::kAdministrateUser, "ADMINISTRATE_USER", "administrate user", Role::kClusterAdmin,
     true, 0},
    {Permission::kViewExperimentArtifacts, "VIEW_EXPERIMENT_ARTIFACTS", "view experiment artifacts",
     Role::kViewer, false, kRestricted | kGenAi | kProject},
    {Permission::kUpdateWorkspace, "UPDATE_WORKSPACE", "update workspace", Role::kWorkspaceAdmin,
     false, 0},
    {Permission::kViewExperimentMetadata, "VIEW_EXPERIMENT_METADATA", "view experiment metadata",
     Role::kViewer, false, kRestricted | kGenAi | kProject},
    {Permission::kDeleteExperiment, "DELETE_EXPERIMENT", "delete experiment", Role::kEditor, false,
     kRestricted | kGenAi | kProject},
    {Permission::kViewWorkspace, "VIEW_WORKSPACE", "view workspace", Role::kViewer, false,
     kRestricted | kGenAi | kProject},
    {Permission::kCreateProject, "CREATE_PROJECT", "create project", Role::kWorkspaceAdmin, false,
     kRestricted | kGenAi},
    {Permission::kSetWorkspaceAgentUserGroup, "SET_WORKSPACE_AGENT_USER_GROUP",
     "set agent user group on workspace", Role::kClusterAdmin, false, 0},
    {Permission::kEditWebhooks, "EDIT_WEBHOOKS", "edit webhooks", Role::kWorkspaceAdmin, false,
     kRestricted | kProject},
    {Permission::kSetWorkspaceCheckpointStorageConfig, "SET_WORKSPACE_CHECKPOINT_STORAGE_CONFIG",
     "set checkpoint storage config on workspace", Role::kWorkspaceAdmin, false, 0},
    {Permission::kViewModelRegistry, "VIEW_MODEL_REGISTRY", "view model registry", Role::kViewer,
     false, kModels | kRestricted | kGenAi | kProject},
    {Permission::kEditModelRegistry, "EDIT_MODEL_REGISTRY", "edit model registry", Role::kEditor,
     false, kRestricted | kGenAi | kProject},
    {Permission::kCreateModelRegistry, "CREATE_MODEL_REGISTRY", "create model registry",
     Role::kEditor, false, kRestricted | kGenAi | kProject},
    {Permission::kCreateNsc, "CREATE_NSC", "create notebooks/shells/commands", Role::kEditor, false,
     kGenAi | kProject},
    {Permission::kViewNsc, "VIEW_NSC", "view notebooks/shells/commands", Role::kViewer, false,
     kRestricted | kGenAi | kProject},
    {Permission::kUpdateNsc, "UPDATE_NSC", "update notebooks/shells/commands", Role::kEditor, false,
     kGenAi | kProject},
    {Permission::kUpdateAgents, "UPDATE_AGENTS", "update agents", Role::kClusterAdmin, true, 0},
    {Permission::kDeleteModelRegistry, "DELETE_MODEL_REGISTRY", "delete model registry",
     Role::kEditor, false, kRestricted | kGenAi | kProject},
    {Permission::kViewMasterLogs, "VIEW_MASTER_LOGS", "view master logs", Role::kClusterAdmin, true,
     0},
    {Permission::kViewClusterUsage, "VIEW_CLUSTER_USAGE", "view detailed cluster usage",
     Role::kViewer, true, 0},
    {Permission::kViewSensitiveAgentInfo, "VIEW_SENSITIVE_AGENT_INFO", "view sensitive agent info",
     Role::kClusterAdmin, true, 0},
    {Permission::kViewTemplates, "VIEW_TEMPLATES", "view templates", Role::kViewer, false,
     kRestricted | kGenAi | kProject},
    {Permission::kUpdateTemplates, "UPDATE_TEMPLATES", "update templates", Role::kEditor, false,
     kRestricted | kGenAi | kProject},
    {Permission::kCreateTemplates, "CREATE_TEMPLATES", "create templates", Role::kEditor, false,
     kRestricted | kGenAi | kProject},
    {Permission::kDeleteTemplates, "DELETE_TEMPLATES", "delete templates", Role::kEditor, false,
     kRestricted | kGenAi | kProject},
    {Permission::kControlStrictJobQueue, "CONTROL_STRICT_JOB_QUEUE", "control strict job queue",
     Role::kClusterAdmin, true, 0},
    {Permission::kDeleteModelVersion, "DELETE_MODEL_VERSION", "delete model version", Role::kEditor,
     false, kRestricted | kGenAi | kProject},
    {Permission::kDeleteOtherUserModelRegistry, "DELETE_OTHER_USER_MODEL_REGISTRY",
     "delete other user model registry", Role::kEditor, false, 0},
    {Permission::kDeleteOtherUserModelVersion, "DELETE_OTHER_USER_MODEL_VERSION",
     "delete other user model version", Role::kEditor, false, 0},
    {Permission::kSetWorkspaceDefaultResourcePool, "SET_WORKSPACE_DEFAULT_RESOURCE_POOL",
     "set default resource pool on workspace", Role::kWorkspaceAdmin, false, 0},
    {Permission::kViewMasterConfig, "VIEW_MASTER_CONFIG", "view master config", Role::kClusterAdmin,
     true, 0},
    {Permission::kUpdateMasterConfig, "UPDATE_MASTER_CONFIG", "update master config",
     Role::kClusterAdmin, true, 0},
    {Permission::kViewExternalJobs, "VIEW_EXTERNAL_JOBS", "view external jobs", Role::kClusterAdmin,
     true, 0},
    {Permission::kModifyRpWorkspaceBindings, "MODIFY_RP_WORKSPACE_BINDINGS",
     "modify pool/workspace bindings", Role::kClusterAdmin, true, 0},
    {Permission::kSetWorkspaceNamespaceBindings, "SET_WORKSPACE_NAMESPACE_BINDINGS",
     "set workspace/namespace bindings", Role::kClusterAdmin, true, 0},
    {Permission::kSetResourceQuotas, "SET_RESOURCE_QUOTAS", "set resource quotas",
     Role::kClusterAdmin, true, 0},
    {Permission::kViewResourceQuotas, "VIEW_RESOURCE_QUOTAS", "view resource quotas", Role::kViewer,
     false, kRestricted | kGenAi | kProject},
    {Permission::kModifyGlobalConfigPolicies, "MODIFY_GLOBAL_CONFIG_POLICIES",
     "modify global config policies", Role::kClusterAdmin, true, 0},
    {Permission::kModifyWorkspaceConfigPolicies, "MODIFY_WORKSPACE_CONFIG_POLICIES",
     "modify workspace config policies", Role::kWorkspaceAdmin, false, 0},
    {Permission::kViewGlobalConfigPolicies, "VIEW_GLOBAL_CONFIG_POLICIES",
     "view global config policies", Role::kViewer, false,
     kCreator | kModels | kRestricted | kGenAi | kProject},
    {Permission::kViewWorkspaceConfigPolicies, "VIEW_WORKSPACE_CONFIG_POLICIES",
     "view workspace config policies", Role::kViewer, false,
     kCreator | kModels | kRestricted | kGenAi | kProject},
    {Permission::kAdministrateToken, "ADMINISTRATE_TOKEN", "administrate access token",
     Role::kClusterAdmin, true, 0},
    {Permission::kUpdateToken, "UPDATE_TOKEN", "update own access token", Role::kEditor, true,
     kTokens},
    {Permission::kCreateToken, "CREATE_TOKEN", "create access token", Role::kEditor, true, kTokens},
    {Permission::kCreateOtherToken, "CREATE_OTHER_TOKEN", "create other user's token",
     Role::kClusterAdmin, true, 0},
    {Permission::kViewOtherToken, "VIEW_OTHER_TOKEN", "view other users' tokens",
     Role::kClusterAdmin, true, 0},
    {Permission::kViewToken, "VIEW_TOKEN", "view own access token", Role::kEditor, true, kTokens},
    {Permission::kAdministrateOauth, "ADMINISTRATE_OAUTH", "manage oauth", Role::kClusterAdmin,
     true, 0},
    {Permission::kViewWebhooks, "VIEW_WEBHOOKS", "view webhooks", Role::kEditor, false,
     kRestricted | kProject},
};

constexpr BuiltInRole kBuiltInRoles[] = {
    {Role::kClusterAdmin, "ClusterAdmin"},
    {Role::kEditor, "Editor"},
    {kEditorProjectRestricted, "EditorProjectRestricted"},
    {kEditorRestricted, "EditorRestricted"},
    {kGenAiUser, "GenAIUser"},
    {kModelRegistryViewer, "ModelRegistryViewer"},
    {kTokenCreator, "TokenCreator"},
    {Role::kViewer, "Viewer"},
    {Role::kWorkspaceAdmin, "WorkspaceAdmin"},
    {kWorkspaceCreator, "WorkspaceCreator"},
};

std::map<RoleId, PermissionSet> MakeBuiltInSets() {
  std::map<RoleId, PermissionSet> sets;
  for (const BuiltInRole& role : kBuiltInRoles) {
    const Role level = ToRole(role.id);
    for (const PermissionInfo& info : kInfos) {
      const bool has = level != Role::kNone ? info.role <= level
                                            : (info.restricted_roles >> role.id.value() & 1u) != 0;
      if (has) sets[role.id].insert(info.permission);
    }
  }
  return sets;
}

}  // namespace

std::span<const PermissionInfo> GetPermissionInfos() { return kInfos; }

const PermissionInfo& GetInfo(Permission permission) {
  for (const PermissionInfo& info : kInfos) {
    if (info.permission == permission) return info;
  }
  return kInfos[0];
}

std::optional<Permission> ToPermission(int number) {
  for (const PermissionInfo& info : kInfos) {
    if (static_cast<int>(info.permission) == number) return info.permission;
  }
  return std::nullopt;
}

std::optional<Permission> ParsePermission(std::string_view api_name) {
  for (const PermissionInfo& info : kInfos) {
    if (info.api_name == api_name) return info.permission;
  }
  return std::nullopt;
}

std::span<const BuiltInRole> GetBuiltInRoles() { return kBuiltInRoles; }

const PermissionSet& GetPermissions(RoleId role) {
  static const auto& sets = *new std::map<RoleId, PermissionSet>(MakeBuiltInSets());
  static const PermissionSet& none = *new PermissionSet();
  const auto it = sets.find(role);
  return it == sets.end() ? none : it->second;
}

PermissionSet GetListedPermissions(RoleId role, const PermissionSet& permissions) {
  const Role level = ToRole(role);
  if (level == Role::kNone || level == Role::kClusterAdmin) return permissions;
  PermissionSet listed = permissions;
  for (const PermissionInfo& info : kInfos) {
    if (info.cluster_only) listed.erase(info.permission);
  }
  return listed;
}

bool IsAssignableInWorkspace(const PermissionSet& listed) {
  for (const PermissionInfo& info : kInfos) {
    if (info.cluster_only && listed.contains(info.permission)) return false;
  }
  return true;
}

}  // namespace det::model
