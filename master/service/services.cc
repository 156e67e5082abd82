#include "master/service/services.h"

#include <utility>

#include <grpcpp/impl/service_type.h>

namespace det::service {

std::vector<NamedService> MakeServices(const Edge& edge, AllocationWatch& watch,
                                       AllGather& all_gather) {
  std::vector<NamedService> services;
  const auto add = [&](const char* name, std::unique_ptr<grpc::Service> service) {
    services.push_back({name, std::move(service)});
  };
  add("det.api.v1.MasterService", MakeMasterService(edge));
  add("det.api.v1.AuthService", MakeAuthService(edge));
  add("det.api.v1.UserService", MakeUserService(edge));
  add("det.api.v1.RoleService", MakeRoleService(edge));
  add("det.api.v1.UsageService", MakeUsageService(edge));
  add("det.api.v1.TokenService", MakeTokenService(edge));
  add("det.api.v1.ExperimentService", MakeExperimentService(edge));
  add("det.api.v1.TrialService", MakeTrialService(edge));
  add("det.api.v1.LogRetentionService", MakeLogRetentionService(edge));
  add("det.api.v1.CheckpointService", MakeCheckpointService(edge));
  add("det.api.v1.JobService", MakeJobService(edge));
  add("det.api.v1.AgentService", MakeAgentService(edge));
  add("det.api.v1.ResourcePoolService", MakeResourcePoolService(edge));
  add("det.api.v1.TaskService", MakeTaskService(edge));
  add("det.api.v1.TaskRuntimeService", MakeTaskRuntimeService(edge, watch));
  add("det.api.v1.CommandService", MakeCommandService(edge));
  add("det.api.v1.TemplateService", MakeTemplateService(edge));
  add("det.api.v1.SearchService", MakeSearchService(edge));
  add("det.api.v1.WorkspaceService", MakeWorkspaceService(edge));
  add("det.api.v1.ProjectService", MakeProjectService(edge));
  add("det.api.v1.ModelService", MakeModelService(edge));
  add("det.api.v1.WebhookService", MakeWebhookService(edge));
  add("det.api.v1.ConfigPolicyService", MakeConfigPolicyService(edge));
  add("det.api.v1.OverviewService", MakeOverviewService(edge));
  add("det.api.v1.RunService", MakeRunService(edge));
  add("det.trial.v1.TrialRuntime", MakeTrialRuntimeService(edge, watch, all_gather));
  return services;
}

}  // namespace det::service
