// Permissions: the role that each verb needs on each kind of resource, and the methods of each
// verb. This table is reviewed by hand; the options det.access in proto/ must agree with it.
// permission_matrix_test.cc takes the expected results from it. Add each new method for users here.
#ifndef MASTER_TESTS_AUTHZ_PERMISSION_TABLE_H_
#define MASTER_TESTS_AUTHZ_PERMISSION_TABLE_H_

#include <string_view>

#include "master/auth/permissions.h"
#include "master/core/model/role.h"

namespace det::tests {

using auth::Scope;
using model::Role;

enum class Verb {
  kUse,          // own data, or data that every user sees
  kRead,         // needs the role Viewer
  kReadSecrets,  // reads data that not every Viewer may read
  kEdit,         // creates, changes or deletes
  kAdminister,   // changes permissions or shared settings
};

struct Permission {
  Scope resource;
  Verb verb;
  Role role;                 // the lowest sufficient role
  std::string_view methods;  // separated by spaces, without "det.api.v1."
};

constexpr Permission kPermissions[] = {
    {Scope::kAnywhere, Verb::kRead, Role::kViewer,
     "AgentService.GetAgent AgentService.GetAgents AgentService.GetSlot AgentService.GetSlots "
     "ConfigPolicyService.GetGlobalConfigPolicies ResourcePoolService.GetQuotas "
     "ResourcePoolService.GetResourcePools SearchService.PreviewHPSearch "
     "SearchService.SimulateSearch"},
    {Scope::kAnywhere, Verb::kEdit, Role::kEditor,
     "WorkspaceService.PostWorkspace"},
    {Scope::kVisible, Verb::kRead, Role::kViewer,
     "CommandService.GetActiveTasksCount CommandService.GetCommands CommandService.GetNotebooks "
     "CommandService.GetShells CommandService.GetTensorboards "
     "ExperimentService.GetExperiments JobService.GetJobQueueStats JobService.GetJobs "
     "JobService.GetJobsV2 KubernetesService.GetWorkspacesWithDefaultNamespaceBindings "
     "ModelService.GetModelLabels ModelService.GetModels "
     "OverviewService.GetOverview ProjectService.GetProjectsByUserActivity "
     "RawService.GetTaskSummaries ResourcePoolService.ListWorkspacesBoundToRP "
     "TaskService.GetTasks TemplateService.GetTemplates UsageService.ExportAllocations "
     "UsageService.ExportResourceAllocationAggregated UsageService.ExportResourceAllocationRaw "
     "UsageService.GetCapacity UsageService.ResourceAllocationAggregated "
     "UsageService.ResourceAllocationRaw WorkspaceService.GetWorkspaces "
     "DetachedService.GetTrialByExternalID"},
    {Scope::kVisible, Verb::kReadSecrets, Role::kEditor, "WebhookService.GetWebhooks"},
    {Scope::kSelf, Verb::kUse, Role::kNone,
     "AuthService.CurrentUser AuthService.GetMe AuthService.Logout GroupService.GetGroup "
     "GroupService.GetGroups KubernetesService.GetKubernetesResourceManagers RawService.GetRawMe "
     "RoleService.GetPermissionsSummary RoleService.GetRolesAssignedToGroup "
     "RoleService.GetRolesAssignedToUser RoleService.GetRolesByID RoleService.ListRoles "
     "RoleService.SearchRolesAssignableToScope TokenService.GetAccessTokens "
     "UserService.GetUser UserService.GetUserByUsername UserService.GetUserSetting "
     "UserService.GetUsers UserService.PostUserSetting UserService.ResetUserSetting"},
    {Scope::kSelf, Verb::kEdit, Role::kEditor,
     "TokenService.PatchAccessToken TokenService.PostAccessToken UserService.PatchUser "
     "UserService.SetUserPassword"},
    {Scope::kCluster, Verb::kReadSecrets, Role::kClusterAdmin,
     "JobService.GetSchedulerSnapshot MasterService.GetAudit MasterService.GetClusterMessage "
     "MasterService.GetMasterConfig "
     "MasterService.MasterLogs"},
    {Scope::kCluster, Verb::kAdminister, Role::kClusterAdmin,
     "AgentService.DisableAgent AgentService.DisableSlot AgentService.EnableAgent "
     "AgentService.EnableSlot AgentService.SetMaintenance "
     "ConfigPolicyService.DeleteGlobalConfigPolicies "
     "ConfigPolicyService.PutGlobalConfigPolicies GroupService.AssignMultipleGroups "
     "GroupService.CreateGroup GroupService.DeleteGroup GroupService.UpdateGroup "
     "KubernetesService.BulkAutoCreateWorkspaceNamespaceBindings "
     "KubernetesService.DeleteWorkspaceNamespaceBindings KubernetesService.SetResourceQuotas "
     "KubernetesService.SetWorkspaceNamespaceBindings LogRetentionService.CleanupLogs "
     "MasterService.DeleteClusterMessage "
     "MasterService.PatchMasterConfig MasterService.SetClusterMessage "
     "ResourcePoolService.BindRPToWorkspace ResourcePoolService.DeleteQuota "
     "ResourcePoolService.DeleteResourcePool ResourcePoolService.OverwriteRPWorkspaceBindings "
     "ResourcePoolService.PutQuota ResourcePoolService.PutResourcePool "
     "ResourcePoolService.UnbindRPFromWorkspace RoleService.CreateRole RoleService.DeleteRole "
     "RoleService.UpdateRole UserService.PatchUsers UserService.PostUser"},
    {Scope::kWorkspace, Verb::kRead, Role::kViewer,
     "CommandService.LaunchTensorboard ConfigPolicyService.GetWorkspaceConfigPolicies "
     "KubernetesService.GetKubernetesResourceQuotas "
     "KubernetesService.ListWorkspaceNamespaceBindings "
     "RoleService.GetGroupsAndUsersAssignedToWorkspace WorkspaceService.GetWorkspace "
     "WorkspaceService.GetWorkspaceProjects WorkspaceService.ListRPsBoundToWorkspace "
     "WorkspaceService.PinWorkspace WorkspaceService.UnpinWorkspace"},
    {Scope::kWorkspace, Verb::kEdit, Role::kEditor,
     "CommandService.LaunchCommand CommandService.LaunchNotebook CommandService.LaunchShell "
     "ModelService.PostModel TemplateService.PostTemplate TemplateService.PutTemplate"},
    {Scope::kWorkspace, Verb::kAdminister, Role::kWorkspaceAdmin,
     "ConfigPolicyService.DeleteWorkspaceConfigPolicies "
     "ConfigPolicyService.PutWorkspaceConfigPolicies ProjectService.PostProject "
     "RoleService.AssignRoles RoleService.RemoveAssignments WebhookService.PostWebhook "
     "WorkspaceService.ArchiveWorkspace WorkspaceService.DeleteWorkspace "
     "WorkspaceService.PatchWorkspace WorkspaceService.UnarchiveWorkspace"},
    {Scope::kProject, Verb::kRead, Role::kViewer,
     "ExperimentService.GetExperimentLabels ProjectService.GetProject "
     "RunService.GetMetadataValues RunService.GetProjectColumns "
     "RunService.GetProjectNumericMetricsRange RunService.SearchExperiments "
     "RunService.SearchRuns UserService.PostUserActivity"},
    {Scope::kProject, Verb::kEdit, Role::kEditor,
     "ExperimentActionService.ActivateExperiments ExperimentActionService.ArchiveExperiments "
     "ExperimentActionService.CancelExperiments ExperimentActionService.DeleteExperiments "
     "ExperimentActionService.KillExperiments ExperimentActionService.MoveExperiments "
     "ExperimentActionService.PauseExperiments "
     "ExperimentActionService.PutExperimentsRetainLogs "
     "ExperimentActionService.UnarchiveExperiments DetachedService.PutExperiment "
     "ExperimentService.CreateExperiment GenericTaskService.CreateGenericTask "
     "ProjectService.AddProjectNote ProjectService.PutProjectNotes "
     "RunActionService.ArchiveRuns RunActionService.DeleteRuns RunActionService.KillRuns "
     "RunActionService.MoveRuns RunActionService.PauseRuns RunActionService.ResumeRuns "
     "RunActionService.UnarchiveRuns"},
    {Scope::kProject, Verb::kAdminister, Role::kWorkspaceAdmin,
     "ProjectService.ArchiveProject ProjectService.DeleteProject ProjectService.MoveProject "
     "ProjectService.PatchProject ProjectService.UnarchiveProject"},
    {Scope::kProjectKey, Verb::kRead, Role::kViewer, "ProjectService.GetProjectByKey"},
    {Scope::kExperiment, Verb::kRead, Role::kViewer,
     "CheckpointService.GetExperimentCheckpoints ExperimentService.GetExperiment "
     "ExperimentService.GetModelDef ExperimentService.PreviewRetention "
     "ExperimentService.WatchExperiment ModelDefService.GetModelDefFile "
     "ModelDefService.GetModelDefTree RawService.DownloadModelDef "
     "RawService.DownloadModelDefFile RawService.PreviewGc RunService.ExpMetricNames "
     "RunService.MetricBatches RunService.TrialsSample RunService.TrialsSnapshot "
     "SearchService.GetBestSearcherValidationMetric "
     "SearchService.GetExperimentValidationHistory SearchService.GetSearch "
     "SearchService.WatchSearcherEvents TrialService.GetExperimentTrials"},
    {Scope::kExperiment, Verb::kEdit, Role::kEditor,
     "DetachedService.CreateTrial DetachedService.PutTrial "
     "ExperimentService.ActivateExperiment ExperimentService.ArchiveExperiment "
     "ExperimentService.CancelExperiment ExperimentService.ContinueExperiment "
     "ExperimentService.DeleteExperiment ExperimentService.DeleteExperimentLabel "
     "ExperimentService.DeleteTensorboardFiles "
     "ExperimentService.KillExperiment ExperimentService.MoveExperiment "
     "ExperimentService.PatchExperiment ExperimentService.PauseExperiment "
     "ExperimentService.PutExperimentLabel ExperimentService.UnarchiveExperiment "
     "LogRetentionService.PutExperimentRetainLogs SearchService.PostSearcherOperations "
     "WebhookService.PostWebhookEventData"},
    {Scope::kTrial, Verb::kRead, Role::kViewer,
     "CheckpointService.GetTrialCheckpoints LogFieldsService.TrialLogsFields "
     "LogRetentionService.GetTrialRemainingLogRetentionDays RunService.CompareTrials "
     "RunService.GetRunMetadata TrialService.GetMetrics TrialService.GetTrainingMetrics "
     "TrialService.GetTrial TrialService.GetTrialProfilerAvailableSeries "
     "TrialService.GetTrialProfilerMetrics TrialService.GetTrialWorkloads "
     "TrialService.GetValidationMetrics "
     "TrialService.TrialLogs"},
    {Scope::kTrial, Verb::kEdit, Role::kEditor,
     "DetachedService.PatchTrial DetachedService.StartTrial "
     "LogRetentionService.PutTrialRetainLogs RunService.PostRunMetadata "
     "TaskRuntimeService.PostTrialRunnerMetadata TaskRuntimeService.ReportTrialMetrics "
     "TaskRuntimeService.ReportTrialProgress TaskRuntimeService.ReportTrialSearcherEarlyExit "
     "TaskRuntimeService.ReportTrialTrainingMetrics "
     "TaskRuntimeService.ReportTrialValidationMetrics TaskRuntimeService.RunPrepareForReporting "
     "TrialService.KillTrial TrialService.PostTrialProfilerMetricsBatch "
     "TrialSourceService.ReportTrialSourceInfo"},
    {Scope::kCheckpoint, Verb::kRead, Role::kViewer,
     "CheckpointService.GetCheckpoint CheckpointService.ReadCheckpointFile "
     "RawService.DownloadCheckpoint TrialSourceService.GetTrialMetricsByCheckpoint"},
    {Scope::kCheckpoint, Verb::kEdit, Role::kEditor,
     "CheckpointService.CheckpointsRemoveFiles CheckpointService.DeleteCheckpoints "
     "CheckpointService.PostCheckpointMetadata TaskRuntimeService.PatchCheckpoints"},
    {Scope::kJob, Verb::kRead, Role::kViewer, "JobService.ExplainJob"},
    {Scope::kJob, Verb::kEdit, Role::kEditor, "JobService.UpdateJobQueue"},
    {Scope::kTask, Verb::kRead, Role::kViewer,
     "CommandService.GetCommand CommandService.GetNotebook CommandService.GetShell "
     "CommandService.GetTensorboard GenericTaskService.GetGenericTaskConfig "
     "LogFieldsService.TaskLogsFields TaskRuntimeService.GetTaskAcceleratorData "
     "TaskRuntimeService.GetTaskContextDirectory TaskService.GetTask TaskService.TaskLogs"},
    {Scope::kTask, Verb::kEdit, Role::kEditor,
     "CommandService.IdleNotebook CommandService.KillCommand CommandService.KillNotebook "
     "CommandService.KillShell CommandService.KillTensorboard CommandService.SetCommandPriority "
     "CommandService.SetNotebookPriority CommandService.SetShellPriority "
     "CommandService.SetTensorboardPriority GenericTaskService.KillGenericTask "
     "GenericTaskService.PauseGenericTask GenericTaskService.UnpauseGenericTask "
     "TaskRuntimeService.PostRawTaskLogs TaskRuntimeService.PostTaskLogs "
     "TaskRuntimeService.ReportCheckpoint"},
    {Scope::kAllocation, Verb::kRead, Role::kViewer,
     "TaskRuntimeService.AllocationPreemptionSignal TaskRuntimeService.AllocationRendezvousInfo "
     "TaskService.GetAllocation"},
    {Scope::kAllocation, Verb::kEdit, Role::kEditor,
     "TaskRuntimeService.AckAllocationPreemptionSignal TaskRuntimeService.AllocationAllGather "
     "TaskRuntimeService.AllocationPendingPreemptionSignal TaskRuntimeService.AllocationReady "
     "TaskRuntimeService.AllocationWaiting TaskRuntimeService.MarkAllocationResourcesDaemon "
     "TaskRuntimeService.NotifyContainerRunning "
     "TaskRuntimeService.PostAllocationAcceleratorData "
     "TaskRuntimeService.PostAllocationProxyAddress"},
    {Scope::kModel, Verb::kRead, Role::kViewer,
     "ModelService.GetModel ModelService.GetModelVersion ModelService.GetModelVersions "
     "TrialSourceService.GetTrialMetricsByModelVersion"},
    {Scope::kModel, Verb::kEdit, Role::kEditor,
     "ModelService.ArchiveModel ModelService.DeleteModel ModelService.DeleteModelVersion "
     "ModelService.MoveModel ModelService.PatchModel ModelService.PatchModelVersion "
     "ModelService.PostModelVersion ModelService.UnarchiveModel"},
    {Scope::kTemplate, Verb::kRead, Role::kViewer, "TemplateService.GetTemplate"},
    {Scope::kTemplate, Verb::kEdit, Role::kEditor,
     "TemplateService.DeleteTemplate TemplateService.PatchTemplateConfig "
     "TemplateService.PatchTemplateName"},
    {Scope::kWebhook, Verb::kReadSecrets, Role::kEditor,
     "WebhookService.GetWebhook WebhookService.GetWebhookDeliveries"},
    {Scope::kWebhook, Verb::kAdminister, Role::kWorkspaceAdmin,
     "WebhookService.DeleteWebhook WebhookService.PatchWebhook WebhookService.TestWebhook"},
};

}  // namespace det::tests

#endif  // MASTER_TESTS_AUTHZ_PERMISSION_TABLE_H_
