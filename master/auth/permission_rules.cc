// The rules of all methods.
#include <algorithm>

#include "master/auth/permissions.h"

namespace det::auth {
namespace {

using model::Role;

struct Rule {
  std::string_view methods;  // a full name, or a prefix before a "*"
  Requirement requirement;
};

constexpr Requirement kPublic = {.is_public = true};

constexpr Requirement User(Role role, Scope scope, std::string_view field = "") {
  return {.kind = PrincipalKind::kUser, .role = role, .scope = scope, .field = field};
}
constexpr Requirement AlsoRequires(Requirement first, Role role, Scope scope,
                                   std::string_view field) {
  first.second_scope = scope;
  first.second_field = field;
  first.second_role = role;
  return first;
}
// Also allows tasks of the named resource.
constexpr Requirement OrTask(Requirement users) {
  users.own_task = true;
  return users;
}
// The audit record contains a further request field.
constexpr Requirement AuditsField(std::string_view field, Requirement first) {
  first.audit_field = field;
  return first;
}
// Not idempotent. `audit_result_field`: response field with the id of the created resource, if it
// has one.
constexpr Requirement Creates(std::string_view audit_result_field, Requirement first) {
  first.creates = true;
  first.audit_result_field = audit_result_field;
  return first;
}
constexpr Requirement CreatesUnnamed(Requirement first) { return Creates("", first); }
// Audited although it requires no role for changes.
constexpr Requirement AlwaysAudited(Requirement first) {
  first.always_audited = true;
  return first;
}
constexpr Requirement Reads(Scope scope, std::string_view field = "") {
  return User(Role::kViewer, scope, field);
}
constexpr Requirement Edits(Scope scope, std::string_view field = "") {
  return User(Role::kEditor, scope, field);
}
// Reads data that may contain secrets.
constexpr Requirement ReadsAsEditor(Scope scope, std::string_view field = "") {
  Requirement reads = User(Role::kEditor, scope, field);
  reads.read_only = true;
  return reads;
}
constexpr Requirement Administers(Scope scope, std::string_view field) {
  return User(Role::kWorkspaceAdmin, scope, field);
}
constexpr Requirement kClusterAdmin = User(Role::kClusterAdmin, Scope::kCluster);
constexpr Requirement ReadsAsClusterAdmin() {
  Requirement reads = kClusterAdmin;
  reads.read_only = true;
  return reads;
}
// Reads or changes the caller's own resources.
constexpr Requirement kOwn = User(Role::kNone, Scope::kSelf);
constexpr Requirement kChangesOwn = User(Role::kEditor, Scope::kSelf);
constexpr std::string_view kRoleScopes = "user_role_assignments.role_assignment.scope_workspace_id";

#define DET_API "det.api.v1."

// The first matching rule applies. A method without a rule is denied.
constexpr Rule kRules[] = {
    {"grpc.health.v1.Health.*", kPublic},
    {"grpc.reflection.*", kPublic},

    {DET_API "MasterService.GetMaster", kPublic},
    {DET_API "MasterService.GetInfo", kPublic},
    {DET_API "MasterService.GetHealth", kPublic},
    {DET_API "MasterService.GetTelemetry", kPublic},
    {DET_API "MasterService.GetClusterMessage", kOwn},
    {DET_API "MasterService.Get*", ReadsAsClusterAdmin()},
    {DET_API "MasterService.MasterLogs", ReadsAsClusterAdmin()},
    {DET_API "MasterService.*", kClusterAdmin},

    {DET_API "AuthService.Login", AuditsField("username", AlwaysAudited(kPublic))},
    {DET_API "AuthService.Logout", AlwaysAudited(kOwn)},
    {DET_API "AuthService.GetMe", OrTask(kOwn)},
    {DET_API "AuthService.*", kOwn},
    {DET_API "TokenService.Get*", kOwn},
    {DET_API "TokenService.PostAccessToken", Creates("token_id", kChangesOwn)},
    {DET_API "TokenService.*", AuditsField("token_id", kChangesOwn)},

    {DET_API "RoleService.GetGroupsAndUsersAssignedToWorkspace",
     Reads(Scope::kWorkspace, "workspace_id")},
    {DET_API "RoleService.GetRolesAssignedToUser", User(Role::kNone, Scope::kSelf, "user_id")},
    // For the cluster, and for roles above the caller's own, the service checks.
    {DET_API "RoleService.AssignRoles",
     AuditsField("user_role_assignments.user_id", Administers(Scope::kWorkspace, kRoleScopes))},
    {DET_API "RoleService.RemoveAssignments",
     AuditsField("user_role_assignments.user_id", Administers(Scope::kWorkspace, kRoleScopes))},
    {DET_API "RoleService.*", kOwn},

    {DET_API "UserService.PostUser",
     Creates("user.id", AuditsField("user.username", kClusterAdmin))},
    {DET_API "UserService.PatchUsers", AuditsField("user_ids", kClusterAdmin)},
    {DET_API "UserService.PatchUser", User(Role::kEditor, Scope::kSelf, "user_id")},
    {DET_API "UserService.SetUserPassword", User(Role::kEditor, Scope::kSelf, "user_id")},
    {DET_API "UserService.PostUserActivity", Reads(Scope::kProject, "entity_id")},
    {DET_API "UserService.*", kOwn},

    {DET_API "WorkspaceService.GetWorkspaces", Reads(Scope::kVisible)},
    {DET_API "WorkspaceService.GetWorkspace", Reads(Scope::kWorkspace, "id")},
    {DET_API "WorkspaceService.GetWorkspaceProjects", Reads(Scope::kWorkspace, "id")},
    {DET_API "WorkspaceService.ListRPsBoundToWorkspace", Reads(Scope::kWorkspace, "workspace_id")},
    {DET_API "WorkspaceService.PinWorkspace", Reads(Scope::kWorkspace, "id")},
    {DET_API "WorkspaceService.UnpinWorkspace", Reads(Scope::kWorkspace, "id")},
    {DET_API "WorkspaceService.PostWorkspace",
     Creates("workspace.id", AuditsField("name", Edits(Scope::kAnywhere)))},
    {DET_API "WorkspaceService.PatchWorkspace", Administers(Scope::kWorkspace, "id")},
    {DET_API "WorkspaceService.DeleteWorkspace", Administers(Scope::kWorkspace, "id")},
    {DET_API "WorkspaceService.ArchiveWorkspace", Administers(Scope::kWorkspace, "id")},
    {DET_API "WorkspaceService.UnarchiveWorkspace", Administers(Scope::kWorkspace, "id")},

    {DET_API "OverviewService.GetOverview", Reads(Scope::kVisible)},

    {DET_API "ProjectService.GetProject", Reads(Scope::kProject, "id")},
    {DET_API "ProjectService.GetProjectByKey", Reads(Scope::kProjectKey, "key")},
    {DET_API "ProjectService.GetProjectsByUserActivity", Reads(Scope::kVisible)},
    {DET_API "ProjectService.PostProject",
     Creates("project.id", AuditsField("name", Administers(Scope::kWorkspace, "workspace_id")))},
    {DET_API "ProjectService.PatchProject", Administers(Scope::kProject, "id")},
    {DET_API "ProjectService.DeleteProject", Administers(Scope::kProject, "id")},
    {DET_API "ProjectService.ArchiveProject", Administers(Scope::kProject, "id")},
    {DET_API "ProjectService.UnarchiveProject", Administers(Scope::kProject, "id")},
    {DET_API "ProjectService.MoveProject",
     AlsoRequires(Administers(Scope::kProject, "project_id"), Role::kWorkspaceAdmin,
                  Scope::kWorkspace, "destination_workspace_id")},
    {DET_API "ProjectService.AddProjectNote", CreatesUnnamed(Edits(Scope::kProject, "project_id"))},
    {DET_API "ProjectService.PutProjectNotes", Edits(Scope::kProject, "project_id")},

    // Without a project id the configuration names the project, and the service calls AuthorizeIn.
    {DET_API "ExperimentService.CreateExperiment",
     Creates("experiment.id", AlsoRequires(Edits(Scope::kProject, "project_id"), Role::kViewer,
                                           Scope::kExperiment, "parent_id"))},
    {DET_API "ExperimentService.GetExperiments", Reads(Scope::kVisible)},
    {DET_API "ExperimentService.GetExperiment", Reads(Scope::kExperiment, "experiment_id")},
    {DET_API "ExperimentService.WatchExperiment", Reads(Scope::kExperiment, "experiment_id")},
    {DET_API "ExperimentService.GetModelDef", Reads(Scope::kExperiment, "experiment_id")},
    {DET_API "ModelDefService.*", Reads(Scope::kExperiment, "experiment_id")},
    {DET_API "ExperimentService.PreviewRetention", Reads(Scope::kExperiment, "id")},
    {DET_API "ExperimentService.PauseExperiment", Edits(Scope::kExperiment, "id")},
    {DET_API "ExperimentService.ActivateExperiment", Edits(Scope::kExperiment, "id")},
    {DET_API "ExperimentService.CancelExperiment", Edits(Scope::kExperiment, "id")},
    {DET_API "ExperimentService.KillExperiment", Edits(Scope::kExperiment, "id")},
    {DET_API "ExperimentService.ContinueExperiment",
     CreatesUnnamed(Edits(Scope::kExperiment, "id"))},
    {DET_API "ExperimentService.ArchiveExperiment", Edits(Scope::kExperiment, "id")},
    {DET_API "ExperimentService.UnarchiveExperiment", Edits(Scope::kExperiment, "id")},
    {DET_API "ExperimentService.DeleteExperiment", Edits(Scope::kExperiment, "experiment_id")},
    {DET_API "ExperimentService.PatchExperiment", Edits(Scope::kExperiment, "experiment.id")},
    {DET_API "ExperimentService.MoveExperiment",
     AlsoRequires(Edits(Scope::kExperiment, "experiment_id"), Role::kEditor, Scope::kProject,
                  "destination_project_id")},
    {DET_API "ExperimentService.GetExperimentLabels",
     Reads(Scope::kProject, "project_id")},  // without it: visible ones
    {DET_API "ExperimentService.PutExperimentLabel", Edits(Scope::kExperiment, "experiment_id")},
    {DET_API "ExperimentService.DeleteExperimentLabel", Edits(Scope::kExperiment, "experiment_id")},

    {DET_API "LogRetentionService.PutExperimentRetainLogs",
     Edits(Scope::kExperiment, "experiment_id")},
    {DET_API "LogRetentionService.PutTrialRetainLogs", Edits(Scope::kTrial, "trial_id")},
    {DET_API "LogRetentionService.GetTrialRemainingLogRetentionDays", Reads(Scope::kTrial, "id")},

    {DET_API "TrialService.GetTrial", OrTask(Reads(Scope::kTrial, "trial_id"))},
    {DET_API "TrialService.GetTrialWorkloads", Reads(Scope::kTrial, "trial_id")},
    {DET_API "TrialService.GetExperimentTrials", Reads(Scope::kExperiment, "experiment_id")},
    {DET_API "TrialService.TrialLogs", Reads(Scope::kTrial, "trial_id")},
    {DET_API "TrialService.GetMetrics", Reads(Scope::kTrial, "trial_ids")},
    {DET_API "TrialService.GetTrainingMetrics", Reads(Scope::kTrial, "trial_ids")},
    {DET_API "TrialService.GetValidationMetrics", Reads(Scope::kTrial, "trial_ids")},
    {DET_API "TrialService.KillTrial", Edits(Scope::kTrial, "id")},

    {DET_API "RunService.SearchRuns",
     Reads(Scope::kProject, "project_id")},  // without it: visible ones
    {DET_API "RunService.SearchExperiments", Reads(Scope::kProject, "project_id")},
    {DET_API "RunService.GetProject*", Reads(Scope::kProject, "id")},
    {DET_API "RunService.GetMetadataValues", Reads(Scope::kProject, "project_id")},
    {DET_API "RunService.GetRunMetadata", OrTask(Reads(Scope::kTrial, "run_id"))},
    {DET_API "RunService.PostRunMetadata", CreatesUnnamed(OrTask(Edits(Scope::kTrial, "run_id")))},
    {DET_API "RunService.ExpMetricNames", Reads(Scope::kExperiment, "ids")},
    {DET_API "RunService.CompareTrials", Reads(Scope::kTrial, "trial_ids")},
    {DET_API "RunService.*", Reads(Scope::kExperiment, "experiment_id")},

    // Each run is authorized separately by the service, and fails separately.
    {DET_API "RunActionService.MoveRuns",
     AuditsField("run_ids", AlsoRequires(Edits(Scope::kProject, "source_project_id"), Role::kEditor,
                                         Scope::kProject, "destination_project_id"))},
    {DET_API "RunActionService.*", AuditsField("run_ids", Edits(Scope::kProject, "project_id"))},

    // Like runs.
    {DET_API "ExperimentActionService.MoveExperiments",
     AuditsField("experiment_ids", AlsoRequires(Edits(Scope::kProject, "project_id"), Role::kEditor,
                                                Scope::kProject, "destination_project_id"))},
    {DET_API "ExperimentActionService.*",
     AuditsField("experiment_ids", Edits(Scope::kProject, "project_id"))},

    {DET_API "CheckpointService.GetCheckpoint",
     OrTask(Reads(Scope::kCheckpoint, "checkpoint_uuid"))},
    {DET_API "CheckpointService.CheckpointsRemoveFiles",
     Edits(Scope::kCheckpoint, "checkpoint_uuids")},
    {DET_API "CheckpointService.PostCheckpointMetadata",
     CreatesUnnamed(Edits(Scope::kCheckpoint, "checkpoint.uuid"))},
    {DET_API "CheckpointService.GetExperimentCheckpoints", Reads(Scope::kExperiment, "id")},
    {DET_API "CheckpointService.GetTrialCheckpoints", Reads(Scope::kTrial, "id")},
    {DET_API "CheckpointService.ReadCheckpointFile", Reads(Scope::kCheckpoint, "checkpoint_uuid")},
    {DET_API "CheckpointService.DeleteCheckpoints", Edits(Scope::kCheckpoint, "checkpoint_uuids")},

    {DET_API "TrialSourceService.GetTrialMetricsByCheckpoint",
     Reads(Scope::kCheckpoint, "checkpoint_uuid")},
    {DET_API "TrialSourceService.GetTrialMetricsByModelVersion",
     Reads(Scope::kModel, "model_name")},

    {DET_API "RawService.DownloadCheckpoint", Reads(Scope::kCheckpoint, "checkpoint_uuid")},
    {DET_API "RawService.DownloadModelDef*", Reads(Scope::kExperiment, "experiment_id")},
    {DET_API "RawService.PreviewGc", Reads(Scope::kExperiment, "id")},
    {DET_API "RawService.GetTaskSummaries", Reads(Scope::kVisible)},

    {DET_API "TaskService.GetTasks", Reads(Scope::kVisible)},
    {DET_API "TaskService.GetTask", Reads(Scope::kTask, "task_id")},
    {DET_API "TaskService.GetAllocation", Reads(Scope::kAllocation, "allocation_id")},
    {DET_API "TaskService.TaskLogs", Reads(Scope::kTask, "task_id")},
    {DET_API "LogFieldsService.TaskLogsFields", Reads(Scope::kTask, "task_id")},
    {DET_API "LogFieldsService.TrialLogsFields", Reads(Scope::kTrial, "trial_id")},

    {DET_API "JobService.ExplainJob", Reads(Scope::kJob, "job_id")},
    {DET_API "JobService.GetSchedulerSnapshot", ReadsAsClusterAdmin()},
    {DET_API "JobService.Get*", Reads(Scope::kVisible)},
    {DET_API "JobService.UpdateJobQueue", Edits(Scope::kJob, "updates.job_id")},

    {DET_API "SearchService.PreviewHPSearch",
     AlsoRequires(Reads(Scope::kAnywhere), Role::kViewer, Scope::kTemplate, "template")},
    {DET_API "SearchService.SimulateSearch",
     AlsoRequires(Reads(Scope::kAnywhere), Role::kViewer, Scope::kTemplate, "template")},
    {DET_API "SearchService.GetSearch", Reads(Scope::kExperiment, "experiment_id")},
    {DET_API "SearchService.GetBestSearcherValidationMetric",
     OrTask(Reads(Scope::kExperiment, "experiment_id"))},
    {DET_API "SearchService.GetExperimentValidationHistory",
     Reads(Scope::kExperiment, "experiment_id")},
    {DET_API "SearchService.WatchSearcherEvents", Reads(Scope::kExperiment, "experiment_id")},
    {DET_API "SearchService.PostSearcherOperations",
     CreatesUnnamed(Edits(Scope::kExperiment, "experiment_id"))},

    {DET_API "TemplateService.GetTemplates", Reads(Scope::kVisible)},
    {DET_API "TemplateService.GetTemplate", Reads(Scope::kTemplate, "template_name")},
    // Without a workspace it is created in Uncategorized; for a template that is replaced, the
    // service checks its workspace.
    {DET_API "TemplateService.PostTemplate",
     CreatesUnnamed(
         AuditsField("template.name", Edits(Scope::kWorkspace, "template.workspace_id")))},
    {DET_API "TemplateService.PutTemplate",
     AuditsField("template.name", Edits(Scope::kWorkspace, "template.workspace_id"))},
    {DET_API "TemplateService.PatchTemplateName", Edits(Scope::kTemplate, "old_name")},
    {DET_API "TemplateService.*", Edits(Scope::kTemplate, "template_name")},

    // A workspace may be given by name, and then the service calls AuthorizeIn.
    {DET_API "ModelService.PostModel",
     Creates("model.id", AuditsField("name", Edits(Scope::kWorkspace, "workspace_id")))},
    {DET_API "ModelService.GetModels", Reads(Scope::kVisible)},
    {DET_API "ModelService.GetModelLabels", Reads(Scope::kVisible)},
    {DET_API "ModelService.Get*", Reads(Scope::kModel, "model_name")},
    {DET_API "ModelService.PatchModel",
     AlsoRequires(Edits(Scope::kModel, "model_name"), Role::kEditor, Scope::kWorkspace,
                  "model.workspace_id")},
    {DET_API "ModelService.MoveModel",
     AlsoRequires(Edits(Scope::kModel, "model_name"), Role::kEditor, Scope::kWorkspace,
                  "destination_workspace_id")},
    {DET_API "ModelService.PostModelVersion",
     Creates("model_version.version",
             AlsoRequires(Edits(Scope::kModel, "model_name"), Role::kViewer, Scope::kCheckpoint,
                          "checkpoint_uuid"))},
    {DET_API "ModelService.*", Edits(Scope::kModel, "model_name")},
    {DET_API "UsageService.*", Reads(Scope::kVisible)},

    // Its URL may contain a secret. A webhook without a workspace requires ClusterAdmin: the
    // service checks.
    {DET_API "WebhookService.GetWebhooks", ReadsAsEditor(Scope::kVisible)},
    {DET_API "WebhookService.Get*", ReadsAsEditor(Scope::kWebhook, "id")},
    {DET_API "WebhookService.PostWebhook",
     Creates("webhook.id",
             AuditsField("webhook.name", Administers(Scope::kWorkspace, "webhook.workspace_id")))},
    {DET_API "WebhookService.PostWebhookEventData",
     CreatesUnnamed(OrTask(AlsoRequires(Edits(Scope::kExperiment, "experiment_id"), Role::kEditor,
                                        Scope::kTrial, "trial_id")))},
    {DET_API "WebhookService.TestWebhook", CreatesUnnamed(Administers(Scope::kWebhook, "id"))},
    {DET_API "WebhookService.*", Administers(Scope::kWebhook, "id")},

    {DET_API "ConfigPolicyService.GetGlobalConfigPolicies",
     AuditsField("workload_type", Reads(Scope::kAnywhere))},
    {DET_API "ConfigPolicyService.PutGlobalConfigPolicies",
     AuditsField("workload_type", kClusterAdmin)},
    {DET_API "ConfigPolicyService.DeleteGlobalConfigPolicies",
     AuditsField("workload_type", kClusterAdmin)},
    {DET_API "ConfigPolicyService.Get*", Reads(Scope::kWorkspace, "workspace_id")},
    {DET_API "ConfigPolicyService.*",
     AuditsField("workload_type", Administers(Scope::kWorkspace, "workspace_id"))},

    {DET_API "AgentService.Get*", Reads(Scope::kAnywhere)},
    {DET_API "AgentService.*", kClusterAdmin},
    {DET_API "ResourcePoolService.Get*", Reads(Scope::kAnywhere)},
    {DET_API "ResourcePoolService.ListWorkspacesBoundToRP", Reads(Scope::kVisible)},
    {DET_API "ResourcePoolService.*", kClusterAdmin},

    {DET_API "CommandService.Get*", Reads(Scope::kVisible)},
    {DET_API "CommandService.*", Edits(Scope::kAnywhere)},
    // These methods do nothing.
    {DET_API "UnservedService.*", kPublic},

    {DET_API "TaskRuntimeService.*", {.kind = PrincipalKind::kAllocation}},
    {"det.agent.v1.*", {.kind = PrincipalKind::kAgent}},
    {"det.trial.v1.*", {.kind = PrincipalKind::kAllocation}},
};

bool Fits(std::string_view methods, std::string_view method) {
  if (methods.back() != '*') return method == methods;
  methods.remove_suffix(1);
  return method.substr(0, methods.size()) == methods;
}

}  // namespace

Requirement GetRequirement(std::string_view method) {
  for (const Rule& rule : kRules) {
    if (Fits(rule.methods, method)) return rule.requirement;
  }
  return {.is_denied = true};
}

}  // namespace det::auth
