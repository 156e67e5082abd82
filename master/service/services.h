// The gRPC services of the API and of running trials. Thin: admit, validate, convert, then submit
// to the engine or read from the store.
//
// Made by master.cc, which registers them with the server; `edge` must outlive them. Their methods
// run on gRPC's threads and on the edge's pool.
#ifndef MASTER_SERVICE_SERVICES_H_
#define MASTER_SERVICE_SERVICES_H_

#include <memory>
#include <string>
#include <vector>

#include "master/service/all_gather.h"
#include "master/service/allocation_watch.h"
#include "master/service/edge.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace det::service {

// A service under its full name, "det.api.v1.JobService".
struct NamedService {
  std::string name;
  std::unique_ptr<grpc::Service> service;
};
// All of them: what is listed here is served by gRPC and by HTTP.
std::vector<NamedService> MakeServices(const Edge& edge, AllocationWatch& watch,
                                       AllGather& all_gather);

std::unique_ptr<grpc::Service> MakeMasterService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeAuthService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeExperimentService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeTrialService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeCheckpointService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeJobService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeAgentService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeResourcePoolService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeTaskService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeTaskRuntimeService(const Edge& edge, AllocationWatch& watch);
std::unique_ptr<grpc::Service> MakeCommandService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeTemplateService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeSearchService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeRoleService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeUsageService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeLogRetentionService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeUserService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeTokenService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeWorkspaceService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeProjectService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeModelService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeWebhookService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeConfigPolicyService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeOverviewService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeRunService(const Edge& edge);
std::unique_ptr<grpc::Service> MakeTrialRuntimeService(const Edge& edge, AllocationWatch& watch,
                                                       AllGather& all_gather);

}  // namespace det::service

#endif  // MASTER_SERVICE_SERVICES_H_
