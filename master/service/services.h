// The gRPC services of the API and of running trials. Thin: admit, validate, convert, then submit
// to the engine or read from the store.
//
// Made by master.cc, which registers them with the server; `edge` must outlive them. Their methods
// run on gRPC's threads and on the edge's pool.
#ifndef MASTER_SERVICE_SERVICES_H_
#define MASTER_SERVICE_SERVICES_H_

#include <array>
#include <memory>
#include <vector>

#include "master/service/all_gather.h"
#include "master/service/allocation_watch.h"
#include "master/service/edge.h"
#include "master/service/service.h"

namespace det::service {

// All of them: what is listed here is served by gRPC and by HTTP.
std::vector<std::unique_ptr<Service>> MakeServices(const Edge& edge, AllocationWatch& watch,
                                                   AllGather& all_gather);

// Those of their methods that HTTP serves as one answer and that wait for something to happen.
inline constexpr std::array kLongPolls = {
    "det.api.v1.TaskRuntimeService.AllocationRendezvousInfo",
    "det.api.v1.TaskRuntimeService.AllocationPreemptionSignal",
};

std::unique_ptr<Service> MakeMasterService(const Edge& edge);
std::unique_ptr<Service> MakeAuthService(const Edge& edge);
std::unique_ptr<Service> MakeExperimentService(const Edge& edge);
std::unique_ptr<Service> MakeTrialService(const Edge& edge);
std::unique_ptr<Service> MakeCheckpointService(const Edge& edge);
std::unique_ptr<Service> MakeJobService(const Edge& edge);
std::unique_ptr<Service> MakeAgentService(const Edge& edge);
std::unique_ptr<Service> MakeResourcePoolService(const Edge& edge);
std::unique_ptr<Service> MakeTaskService(const Edge& edge);
std::unique_ptr<Service> MakeTaskRuntimeService(const Edge& edge, AllocationWatch& watch);
std::unique_ptr<Service> MakeCommandService(const Edge& edge);
std::unique_ptr<Service> MakeUnservedService(const Edge& edge);
std::unique_ptr<Service> MakeTemplateService(const Edge& edge);
std::unique_ptr<Service> MakeSearchService(const Edge& edge);
std::unique_ptr<Service> MakeRoleService(const Edge& edge);
std::unique_ptr<Service> MakeUsageService(const Edge& edge);
std::unique_ptr<Service> MakeRawService(const Edge& edge);
std::unique_ptr<Service> MakeLogRetentionService(const Edge& edge);
std::unique_ptr<Service> MakeUserService(const Edge& edge);
std::unique_ptr<Service> MakeTokenService(const Edge& edge);
std::unique_ptr<Service> MakeWorkspaceService(const Edge& edge);
std::unique_ptr<Service> MakeProjectService(const Edge& edge);
std::unique_ptr<Service> MakeModelService(const Edge& edge);
std::unique_ptr<Service> MakeWebhookService(const Edge& edge);
std::unique_ptr<Service> MakeConfigPolicyService(const Edge& edge);
std::unique_ptr<Service> MakeOverviewService(const Edge& edge);
std::unique_ptr<Service> MakeRunService(const Edge& edge);
std::unique_ptr<Service> MakeRunActionService(const Edge& edge);
std::unique_ptr<Service> MakeExperimentActionService(const Edge& edge);
std::unique_ptr<Service> MakeModelDefService(const Edge& edge);
std::unique_ptr<Service> MakeTrialSourceService(const Edge& edge);
std::unique_ptr<Service> MakeLogFieldsService(const Edge& edge);
std::unique_ptr<Service> MakeTrialRuntimeService(const Edge& edge, AllocationWatch& watch,
                                                 AllGather& all_gather);

}  // namespace det::service

#endif  // MASTER_SERVICE_SERVICES_H_
