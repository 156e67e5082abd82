// The gRPC services of this folder; api/services.cc creates them.
#ifndef MASTER_API_RUNTIME_SERVICES_H_
#define MASTER_API_RUNTIME_SERVICES_H_

#include <memory>

#include "master/api/rpc/edge.h"
#include "master/api/rpc/service.h"
#include "master/api/runtime/all_gather.h"
#include "master/live/allocation_watch.h"

namespace det::api {

std::unique_ptr<Service> MakeTaskRuntimeService(const Edge& edge, live::AllocationWatch& watch);
std::unique_ptr<Service> MakeTrialRuntimeService(const Edge& edge, live::AllocationWatch& watch,
                                                 AllGather& all_gather);

}  // namespace det::api

#endif  // MASTER_API_RUNTIME_SERVICES_H_
