// Who may call what, method by method.
#include <algorithm>

#include "master/auth/permissions.h"

namespace det::auth {
namespace {

using model::Role;

struct Rule {
  std::string_view methods;  // a full name, or the beginning of some before a "*"
  Requirement requirement;
};

constexpr Requirement kAnyone = {.anyone = true};

constexpr Requirement User(Role role, Where where, std::string_view field = "") {
  return {.kind = PrincipalKind::kUser, .role = role, .where = where, .field = field};
}
constexpr Requirement And(Requirement first, Role role, Where where, std::string_view field) {
  first.also = where;
  first.also_field = field;
  first.also_role = role;
  return first;
}
// Open to the tasks of what is named, too.
constexpr Requirement OrTask(Requirement users) {
  users.own_task = true;
  return users;
}
// Of whose request the record shows one field more.
constexpr Requirement Tells(std::string_view field, Requirement first) {
  first.told = field;
  return first;
}
// Doing it twice makes two. `made`: where the answer says what, if it has a number of its own.
constexpr Requirement Makes(std::string_view made, Requirement first) {
  first.makes = true;
  first.made = made;
  return first;
}
constexpr Requirement MakesUnnamed(Requirement first) { return Makes("", first); }
// Changes nothing that a role is for, and is told all the same.
constexpr Requirement Noted(Requirement first) {
  first.noted = true;
  return first;
}
constexpr Requirement Reads(Where where, std::string_view field = "") {
  return User(Role::kViewer, where, field);
}
constexpr Requirement Edits(Where where, std::string_view field = "") {
  return User(Role::kEditor, where, field);
}
// Reads what holds secrets.
constexpr Requirement ReadsAsEditor(Where where, std::string_view field = "") {
  Requirement reads = User(Role::kEditor, where, field);
  reads.reads = true;
  return reads;
}
constexpr Requirement Administers(Where where, std::string_view field) {
  return User(Role::kWorkspaceAdmin, where, field);
}
constexpr Requirement kClusterAdmin = User(Role::kClusterAdmin, Where::kCluster);
constexpr Requirement ReadsAsClusterAdmin() {
  Requirement reads = kClusterAdmin;
  reads.reads = true;
  return reads;
}
// Of one's own: read, or changed.
constexpr Requirement kOwn = User(Role::kNone, Where::kSelf);
constexpr Requirement kChangesOwn = User(Role::kEditor, Where::kSelf);
constexpr std::string_view kRoleScopes = "user_role_assignments.role_assignment.scope_workspace_id";

#define DET_API "det.api.v1."

// The first rule that fits decides. A method that none fits is open to nobody.
constexpr Rule kRules[] = {
    {"grpc.health.v1.Health.*", kAnyone},
    {"grpc.reflection.*", kAnyone},

    {DET_API "MasterService.GetMaster", kAnyone},
    {DET_API "MasterService.GetInfo", kAnyone},
    {DET_API "MasterService.GetHealth", kAnyone},
    {DET_API "MasterService.GetTelemetry", kAnyone},
    {DET_API "MasterService.GetClusterMessage", kOwn},
    {DET_API "MasterService.Get*", ReadsAsClusterAdmin()},
    {DET_API "MasterService.MasterLogs", ReadsAsClusterAdmin()},
    {DET_API "MasterService.*", kClusterAdmin},

    {DET_API "AuthService.Login", Tells("username", Noted(kAnyone))},
    {DET_API "AuthService.Logout", Noted(kOwn)},
    {DET_API "AuthService.GetMe", OrTask(kOwn)},
    {DET_API "AuthService.*", kOwn},
    {DET_API "TokenService.Get*", kOwn},
    {DET_API "TokenService.PostAccessToken", Makes("token_id", kChangesOwn)},
    {DET_API "TokenService.*", Tells("token_id", kChangesOwn)},

    {DET_API "RoleService.GetGroupsAndUsersAssignedToWorkspace",
     Reads(Where::kWorkspace, "workspace_id")},
    {DET_API "RoleService.GetRolesAssignedToUser", User(Role::kNone, Where::kSelf, "user_id")},
    // For the cluster, and of no more than the caller holds: the service asks.
    {DET_API "RoleService.AssignRoles",
     Tells("user_role_assignments.user_id", Administers(Where::kWorkspace, kRoleScopes))},
    {DET_API "RoleService.RemoveAssignments",
     Tells("user_role_assignments.user_id", Administers(Where::kWorkspace, kRoleScopes))},
    {DET_API "RoleService.*", kOwn},

    {DET_API "UserService.PostUser", Makes("user.id", Tells("user.username", kClusterAdmin))},
    {DET_API "UserService.PatchUsers", Tells("user_ids", kClusterAdmin)},
    {DET_API "UserService.PatchUser", User(Role::kEditor, Where::kSelf, "user_id")},
    {DET_API "UserService.SetUserPassword", User(Role::kEditor, Where::kSelf, "user_id")},
    {DET_API "UserService.PostUserActivity", Reads(Where::kProject, "entity_id")},
    {DET_API "UserService.*", kOwn},

    {DET_API "WorkspaceService.GetWorkspaces", Reads(Where::kVisible)},
    {DET_API "WorkspaceService.GetWorkspace", Reads(Where::kWorkspace, "id")},
    {DET_API "WorkspaceService.GetWorkspaceProjects", Reads(Where::kWorkspace, "id")},
    {DET_API "WorkspaceService.ListRPsBoundToWorkspace", Reads(Where::kWorkspace, "workspace_id")},
    {DET_API "WorkspaceService.PinWorkspace", Reads(Where::kWorkspace, "id")},
    {DET_API "WorkspaceService.UnpinWorkspace", Reads(Where::kWorkspace, "id")},
    {DET_API "WorkspaceService.PostWorkspace",
     Makes("workspace.id", Tells("name", Edits(Where::kAnywhere)))},
    {DET_API "WorkspaceService.PatchWorkspace", Administers(Where::kWorkspace, "id")},
    {DET_API "WorkspaceService.DeleteWorkspace", Administers(Where::kWorkspace, "id")},
    {DET_API "WorkspaceService.ArchiveWorkspace", Administers(Where::kWorkspace, "id")},
    {DET_API "WorkspaceService.UnarchiveWorkspace", Administers(Where::kWorkspace, "id")},

    {DET_API "OverviewService.GetOverview", Reads(Where::kVisible)},

    {DET_API "ProjectService.GetProject", Reads(Where::kProject, "id")},
    {DET_API "ProjectService.GetProjectByKey", Reads(Where::kProjectKey, "key")},
    {DET_API "ProjectService.GetProjectsByUserActivity", Reads(Where::kVisible)},
    {DET_API "ProjectService.PostProject",
     Makes("project.id", Tells("name", Administers(Where::kWorkspace, "workspace_id")))},
    {DET_API "ProjectService.PatchProject", Administers(Where::kProject, "id")},
    {DET_API "ProjectService.DeleteProject", Administers(Where::kProject, "id")},
    {DET_API "ProjectService.ArchiveProject", Administers(Where::kProject, "id")},
    {DET_API "ProjectService.UnarchiveProject", Administers(Where::kProject, "id")},
    {DET_API "ProjectService.MoveProject",
     And(Administers(Where::kProject, "project_id"), Role::kWorkspaceAdmin, Where::kWorkspace,
         "destination_workspace_id")},
    {DET_API "ProjectService.AddProjectNote", MakesUnnamed(Edits(Where::kProject, "project_id"))},
    {DET_API "ProjectService.PutProjectNotes", Edits(Where::kProject, "project_id")},

    // Without a project's number the configuration names one, and the service asks AuthorizeIn.
    {DET_API "ExperimentService.CreateExperiment",
     Makes("experiment.id", And(Edits(Where::kProject, "project_id"), Role::kViewer,
                                Where::kExperiment, "parent_id"))},
    {DET_API "ExperimentService.GetExperiments", Reads(Where::kVisible)},
    {DET_API "ExperimentService.GetExperiment", Reads(Where::kExperiment, "experiment_id")},
    {DET_API "ExperimentService.WatchExperiment", Reads(Where::kExperiment, "experiment_id")},
    {DET_API "ExperimentService.GetModelDef", Reads(Where::kExperiment, "experiment_id")},
    {DET_API "ModelDefService.*", Reads(Where::kExperiment, "experiment_id")},
    {DET_API "ExperimentService.PreviewRetention", Reads(Where::kExperiment, "id")},
    {DET_API "ExperimentService.PauseExperiment", Edits(Where::kExperiment, "id")},
    {DET_API "ExperimentService.ActivateExperiment", Edits(Where::kExperiment, "id")},
    {DET_API "ExperimentService.CancelExperiment", Edits(Where::kExperiment, "id")},
    {DET_API "ExperimentService.KillExperiment", Edits(Where::kExperiment, "id")},
    {DET_API "ExperimentService.ContinueExperiment", MakesUnnamed(Edits(Where::kExperiment, "id"))},
    {DET_API "ExperimentService.ArchiveExperiment", Edits(Where::kExperiment, "id")},
    {DET_API "ExperimentService.UnarchiveExperiment", Edits(Where::kExperiment, "id")},
    {DET_API "ExperimentService.DeleteExperiment", Edits(Where::kExperiment, "experiment_id")},
    {DET_API "ExperimentService.PatchExperiment", Edits(Where::kExperiment, "experiment.id")},
    {DET_API "ExperimentService.MoveExperiment",
     And(Edits(Where::kExperiment, "experiment_id"), Role::kEditor, Where::kProject,
         "destination_project_id")},
    {DET_API "ExperimentService.GetExperimentLabels",
     Reads(Where::kProject, "project_id")},  // without: what is visible
    {DET_API "ExperimentService.PutExperimentLabel", Edits(Where::kExperiment, "experiment_id")},
    {DET_API "ExperimentService.DeleteExperimentLabel", Edits(Where::kExperiment, "experiment_id")},

    {DET_API "LogRetentionService.PutExperimentRetainLogs",
     Edits(Where::kExperiment, "experiment_id")},
    {DET_API "LogRetentionService.PutTrialRetainLogs", Edits(Where::kTrial, "trial_id")},
    {DET_API "LogRetentionService.GetTrialRemainingLogRetentionDays", Reads(Where::kTrial, "id")},

    {DET_API "TrialService.GetTrial", OrTask(Reads(Where::kTrial, "trial_id"))},
    {DET_API "TrialService.GetTrialWorkloads", Reads(Where::kTrial, "trial_id")},
    {DET_API "TrialService.GetExperimentTrials", Reads(Where::kExperiment, "experiment_id")},
    {DET_API "TrialService.TrialLogs", Reads(Where::kTrial, "trial_id")},
    {DET_API "TrialService.GetMetrics", Reads(Where::kTrial, "trial_ids")},
    {DET_API "TrialService.GetTrainingMetrics", Reads(Where::kTrial, "trial_ids")},
    {DET_API "TrialService.GetValidationMetrics", Reads(Where::kTrial, "trial_ids")},
    {DET_API "TrialService.KillTrial", Edits(Where::kTrial, "id")},

    {DET_API "RunService.SearchRuns",
     Reads(Where::kProject, "project_id")},  // without: what is visible
    {DET_API "RunService.SearchExperiments", Reads(Where::kProject, "project_id")},
    {DET_API "RunService.GetProject*", Reads(Where::kProject, "id")},
    {DET_API "RunService.GetMetadataValues", Reads(Where::kProject, "project_id")},
    {DET_API "RunService.GetRunMetadata", OrTask(Reads(Where::kTrial, "run_id"))},
    {DET_API "RunService.PostRunMetadata", MakesUnnamed(OrTask(Edits(Where::kTrial, "run_id")))},
    {DET_API "RunService.ExpMetricNames", Reads(Where::kExperiment, "ids")},
    {DET_API "RunService.CompareTrials", Reads(Where::kTrial, "trial_ids")},
    {DET_API "RunService.*", Reads(Where::kExperiment, "experiment_id")},

    // Each run is judged where it lies: the service asks Judge, and the refusal is the run's own.
    {DET_API "RunActionService.MoveRuns",
     Tells("run_ids", And(Edits(Where::kProject, "source_project_id"), Role::kEditor,
                          Where::kProject, "destination_project_id"))},
    {DET_API "RunActionService.*", Tells("run_ids", Edits(Where::kProject, "project_id"))},

    // As with runs.
    {DET_API "ExperimentActionService.MoveExperiments",
     Tells("experiment_ids", And(Edits(Where::kProject, "project_id"), Role::kEditor,
                                 Where::kProject, "destination_project_id"))},
    {DET_API "ExperimentActionService.*",
     Tells("experiment_ids", Edits(Where::kProject, "project_id"))},

    {DET_API "CheckpointService.GetCheckpoint",
     OrTask(Reads(Where::kCheckpoint, "checkpoint_uuid"))},
    {DET_API "CheckpointService.CheckpointsRemoveFiles",
     Edits(Where::kCheckpoint, "checkpoint_uuids")},
    {DET_API "CheckpointService.PostCheckpointMetadata",
     MakesUnnamed(Edits(Where::kCheckpoint, "checkpoint.uuid"))},
    {DET_API "CheckpointService.GetExperimentCheckpoints", Reads(Where::kExperiment, "id")},
    {DET_API "CheckpointService.GetTrialCheckpoints", Reads(Where::kTrial, "id")},
    {DET_API "CheckpointService.ReadCheckpointFile", Reads(Where::kCheckpoint, "checkpoint_uuid")},
    {DET_API "CheckpointService.DeleteCheckpoints", Edits(Where::kCheckpoint, "checkpoint_uuids")},

    {DET_API "TrialSourceService.GetTrialMetricsByCheckpoint",
     Reads(Where::kCheckpoint, "checkpoint_uuid")},
    {DET_API "TrialSourceService.GetTrialMetricsByModelVersion",
     Reads(Where::kModel, "model_name")},

    {DET_API "RawService.DownloadCheckpoint", Reads(Where::kCheckpoint, "checkpoint_uuid")},
    {DET_API "RawService.DownloadModelDef*", Reads(Where::kExperiment, "experiment_id")},
    {DET_API "RawService.PreviewGc", Reads(Where::kExperiment, "id")},
    {DET_API "RawService.GetTaskSummaries", Reads(Where::kVisible)},

    {DET_API "TaskService.GetTasks", Reads(Where::kVisible)},
    {DET_API "TaskService.GetTask", Reads(Where::kTask, "task_id")},
    {DET_API "TaskService.GetAllocation", Reads(Where::kAllocation, "allocation_id")},
    {DET_API "TaskService.TaskLogs", Reads(Where::kTask, "task_id")},
    {DET_API "LogFieldsService.TaskLogsFields", Reads(Where::kTask, "task_id")},
    {DET_API "LogFieldsService.TrialLogsFields", Reads(Where::kTrial, "trial_id")},

    {DET_API "JobService.ExplainJob", Reads(Where::kJob, "job_id")},
    {DET_API "JobService.GetSchedulerSnapshot", ReadsAsClusterAdmin()},
    {DET_API "JobService.Get*", Reads(Where::kVisible)},
    {DET_API "JobService.UpdateJobQueue", Edits(Where::kJob, "updates.job_id")},

    {DET_API "SearchService.PreviewHPSearch",
     And(Reads(Where::kAnywhere), Role::kViewer, Where::kTemplate, "template")},
    {DET_API "SearchService.SimulateSearch",
     And(Reads(Where::kAnywhere), Role::kViewer, Where::kTemplate, "template")},
    {DET_API "SearchService.GetSearch", Reads(Where::kExperiment, "experiment_id")},
    {DET_API "SearchService.GetBestSearcherValidationMetric",
     OrTask(Reads(Where::kExperiment, "experiment_id"))},
    {DET_API "SearchService.GetExperimentValidationHistory",
     Reads(Where::kExperiment, "experiment_id")},
    {DET_API "SearchService.WatchSearcherEvents", Reads(Where::kExperiment, "experiment_id")},
    {DET_API "SearchService.PostSearcherOperations",
     MakesUnnamed(Edits(Where::kExperiment, "experiment_id"))},

    {DET_API "TemplateService.GetTemplates", Reads(Where::kVisible)},
    {DET_API "TemplateService.GetTemplate", Reads(Where::kTemplate, "template_name")},
    // Without a workspace it goes to Uncategorized; what is replaced lies where it lies: the
    // service asks.
    {DET_API "TemplateService.PostTemplate",
     MakesUnnamed(Tells("template.name", Edits(Where::kWorkspace, "template.workspace_id")))},
    {DET_API "TemplateService.PutTemplate",
     Tells("template.name", Edits(Where::kWorkspace, "template.workspace_id"))},
    {DET_API "TemplateService.PatchTemplateName", Edits(Where::kTemplate, "old_name")},
    {DET_API "TemplateService.*", Edits(Where::kTemplate, "template_name")},

    // A workspace may be named instead of numbered, and the service asks AuthorizeIn.
    {DET_API "ModelService.PostModel",
     Makes("model.id", Tells("name", Edits(Where::kWorkspace, "workspace_id")))},
    {DET_API "ModelService.GetModels", Reads(Where::kVisible)},
    {DET_API "ModelService.GetModelLabels", Reads(Where::kVisible)},
    {DET_API "ModelService.Get*", Reads(Where::kModel, "model_name")},
    {DET_API "ModelService.PatchModel", And(Edits(Where::kModel, "model_name"), Role::kEditor,
                                            Where::kWorkspace, "model.workspace_id")},
    {DET_API "ModelService.MoveModel", And(Edits(Where::kModel, "model_name"), Role::kEditor,
                                           Where::kWorkspace, "destination_workspace_id")},
    {DET_API "ModelService.PostModelVersion",
     Makes("model_version.version", And(Edits(Where::kModel, "model_name"), Role::kViewer,
                                        Where::kCheckpoint, "checkpoint_uuid"))},
    {DET_API "ModelService.*", Edits(Where::kModel, "model_name")},
    {DET_API "UsageService.*", Reads(Where::kVisible)},

    // Its URL may hold a secret. One of no workspace is for ClusterAdmin: the service asks.
    {DET_API "WebhookService.GetWebhooks", ReadsAsEditor(Where::kVisible)},
    {DET_API "WebhookService.Get*", ReadsAsEditor(Where::kWebhook, "id")},
    {DET_API "WebhookService.PostWebhook",
     Makes("webhook.id",
           Tells("webhook.name", Administers(Where::kWorkspace, "webhook.workspace_id")))},
    {DET_API "WebhookService.PostWebhookEventData",
     MakesUnnamed(OrTask(And(Edits(Where::kExperiment, "experiment_id"), Role::kEditor,
                             Where::kTrial, "trial_id")))},
    {DET_API "WebhookService.TestWebhook", MakesUnnamed(Administers(Where::kWebhook, "id"))},
    {DET_API "WebhookService.*", Administers(Where::kWebhook, "id")},

    {DET_API "ConfigPolicyService.GetGlobalConfigPolicies",
     Tells("workload_type", Reads(Where::kAnywhere))},
    {DET_API "ConfigPolicyService.PutGlobalConfigPolicies", Tells("workload_type", kClusterAdmin)},
    {DET_API "ConfigPolicyService.DeleteGlobalConfigPolicies",
     Tells("workload_type", kClusterAdmin)},
    {DET_API "ConfigPolicyService.Get*", Reads(Where::kWorkspace, "workspace_id")},
    {DET_API "ConfigPolicyService.*",
     Tells("workload_type", Administers(Where::kWorkspace, "workspace_id"))},

    {DET_API "AgentService.Get*", Reads(Where::kAnywhere)},
    {DET_API "AgentService.*", kClusterAdmin},
    {DET_API "ResourcePoolService.Get*", Reads(Where::kAnywhere)},
    {DET_API "ResourcePoolService.ListWorkspacesBoundToRP", Reads(Where::kVisible)},
    {DET_API "ResourcePoolService.*", kClusterAdmin},

    {DET_API "CommandService.Get*", Reads(Where::kVisible)},
    {DET_API "CommandService.*", Edits(Where::kAnywhere)},
    // Nothing is told and nothing done.
    {DET_API "UnservedService.*", kAnyone},

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

Requirement RequirementOf(std::string_view method) {
  for (const Rule& rule : kRules) {
    if (Fits(rule.methods, method)) return rule.requirement;
  }
  return {.nobody = true};
}

}  // namespace det::auth
