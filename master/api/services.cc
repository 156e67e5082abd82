#include "master/api/services.h"

#include "master/api/checkpoints/services.h"
#include "master/api/cluster/services.h"
#include "master/api/detached/services.h"
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

std::vector<std::unique_ptr<Service>> MakeServices(const ServiceParts& from) {
  std::vector<std::unique_ptr<Service>> services;
  services.push_back(MakeMasterService(*from.calls, *from.engine, *from.store, *from.pool,
                                       *from.loop, *from.clock, from.info));
  services.push_back(MakeAuthService(*from.calls, *from.store, *from.authenticator, *from.passwords,
                                     *from.clock, from.allow_blank_passwords));
  services.push_back(MakeUserService(*from.calls, *from.store, *from.authenticator, *from.passwords,
                                     *from.clock, from.allow_blank_passwords));
  services.push_back(MakeGroupService(*from.calls, *from.store, *from.authenticator));
  services.push_back(MakeRoleService(*from.calls, *from.store, *from.authenticator));
  services.push_back(MakeUsageService(*from.calls, *from.store, *from.clock));
  services.push_back(MakeTokenService(*from.calls, *from.store, *from.authenticator, *from.clock));
  services.push_back(MakeExperimentService(*from.calls, *from.engine, *from.store, *from.watch,
                                           *from.pool, *from.clock, from.info, from.defaults));
  services.push_back(MakeTrialService(*from.calls, *from.engine, *from.store, *from.pool,
                                      *from.clock, *from.watch));
  services.push_back(MakeLogRetentionService(*from.calls, *from.store, *from.clock, from.info));
  services.push_back(MakeCheckpointService(*from.calls, *from.engine, *from.store,
                                           from.defaults.checkpoint_locations));
  services.push_back(MakeJobService(*from.calls, *from.engine, *from.store, *from.pool, *from.clock,
                                    from.info.strict_job_queue));
  services.push_back(MakeAgentService(*from.calls, *from.engine, *from.clock));
  services.push_back(MakeResourcePoolService(*from.calls, *from.engine, *from.store, *from.pool));
  services.push_back(
      MakeTaskService(*from.calls, *from.engine, *from.store, *from.pool, *from.watch));
  services.push_back(MakeTaskRuntimeService(*from.calls, *from.engine, *from.store, *from.watch,
                                            *from.allocations, *from.all_gather, from.triggers,
                                            *from.life_signs, *from.pool, *from.loop, *from.clock));
  services.push_back(MakeDetachedService(*from.calls, *from.engine, *from.store, *from.authorizer,
                                         *from.watch, *from.deliverer, *from.pool, *from.loop,
                                         *from.clock, from.info, from.defaults));
  services.push_back(MakeCommandService(*from.calls, *from.engine, *from.store, *from.pool,
                                        *from.clock, *from.task_activity, from.launch));
  services.push_back(
      MakeGenericTaskService(*from.calls, *from.engine, *from.store, *from.pool, from.launch));
  services.push_back(MakeTemplateService(*from.calls, *from.store));
  services.push_back(MakeSearchService(*from.calls, *from.engine, *from.store, *from.watch,
                                       *from.pool, *from.clock, from.defaults));
  services.push_back(MakeWorkspaceService(*from.calls, *from.engine, *from.store,
                                          *from.authenticator, *from.pool, *from.clock,
                                          from.defaults, from.workspace_creator_role));
  services.push_back(MakeKubernetesService(*from.calls, *from.store));
  services.push_back(MakeProjectService(*from.calls, *from.engine, *from.store, *from.clock));
  services.push_back(MakeModelService(*from.calls, *from.store, *from.clock));
  services.push_back(MakeWebhookService(*from.calls, *from.store, from.triggers, *from.deliverer));
  services.push_back(MakeConfigPolicyService(*from.calls, *from.store));
  services.push_back(MakeOverviewService(*from.calls, *from.engine, *from.store, *from.pool,
                                         *from.loop, *from.clock));
  services.push_back(
      MakeRunService(*from.calls, *from.engine, *from.store, *from.pool, *from.loop, *from.clock));
  services.push_back(
      MakeRunActionService(*from.calls, *from.engine, *from.store, *from.authorizer, *from.pool));
  services.push_back(MakeExperimentActionService(*from.calls, *from.engine, *from.store,
                                                 *from.authorizer, *from.pool));
  services.push_back(MakeModelDefService(*from.calls, *from.store));
  services.push_back(
      MakeRawService(*from.calls, *from.engine, *from.store, from.defaults.checkpoint_locations));
  services.push_back(MakeTrialSourceService(*from.calls, *from.store, *from.authorizer));
  services.push_back(MakeLogFieldsService(*from.calls, *from.store, *from.watch));
  services.push_back(MakeTrialRuntimeService(*from.calls, *from.engine, *from.store, *from.watch,
                                             *from.allocations, *from.all_gather, from.triggers,
                                             *from.pool, *from.clock));
  return services;
}

}  // namespace det::api
