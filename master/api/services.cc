#include "master/api/services.h"

#include "master/api/checkpoints/services.h"
#include "master/api/cluster/services.h"
#include "master/api/experiments/services.h"
#include "master/api/logs/services.h"
#include "master/api/models/services.h"
#include "master/api/policies/services.h"
#include "master/api/queue/services.h"
#include "master/api/resources/services.h"
#include "master/api/runtime/services.h"
#include "master/api/search/services.h"
#include "master/api/tasks/services.h"
#include "master/api/trials/services.h"
#include "master/api/users/services.h"
#include "master/api/webhooks/services.h"
#include "master/api/workspaces/services.h"

namespace det::api {

std::vector<std::unique_ptr<Service>> MakeServices(const Edge& edge, live::AllocationWatch& watch,
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

}  // namespace det::api
