#include "master/service/services.h"

namespace det::service {

std::vector<std::unique_ptr<Service>> MakeServices(const Edge& edge, AllocationWatch& watch,
                                                   AllGather& all_gather) {
  std::vector<std::unique_ptr<Service>> services;
  services.push_back(MakeMasterService(edge));
  services.push_back(MakeAuthService(edge));
  services.push_back(MakeUserService(edge));
  services.push_back(MakeRoleService(edge));
  services.push_back(MakeUsageService(edge));
  services.push_back(MakeTokenService(edge));
  services.push_back(MakeExperimentService(edge));
  services.push_back(MakeTrialService(edge));
  services.push_back(MakeLogRetentionService(edge));
  services.push_back(MakeCheckpointService(edge));
  services.push_back(MakeJobService(edge));
  services.push_back(MakeAgentService(edge));
  services.push_back(MakeResourcePoolService(edge));
  services.push_back(MakeTaskService(edge));
  services.push_back(MakeTaskRuntimeService(edge, watch));
  services.push_back(MakeCommandService(edge));
  services.push_back(MakeUnservedService(edge));
  services.push_back(MakeTemplateService(edge));
  services.push_back(MakeSearchService(edge));
  services.push_back(MakeWorkspaceService(edge));
  services.push_back(MakeProjectService(edge));
  services.push_back(MakeModelService(edge));
  services.push_back(MakeWebhookService(edge));
  services.push_back(MakeConfigPolicyService(edge));
  services.push_back(MakeOverviewService(edge));
  services.push_back(MakeRunService(edge));
  services.push_back(MakeRunActionService(edge));
  services.push_back(MakeExperimentActionService(edge));
  services.push_back(MakeModelDefService(edge));
  services.push_back(MakeRawService(edge));
  services.push_back(MakeTrialSourceService(edge));
  services.push_back(MakeLogFieldsService(edge));
  services.push_back(MakeTrialRuntimeService(edge, watch, all_gather));
  return services;
}

}  // namespace det::service
