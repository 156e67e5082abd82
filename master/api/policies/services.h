// Creates the gRPC services of this folder. Their arguments must outlive them.
#ifndef MASTER_API_POLICIES_SERVICES_H_
#define MASTER_API_POLICIES_SERVICES_H_

#include <memory>

#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
#include "master/store/interfaces/store.h"

namespace det::api {

std::unique_ptr<Service> MakeConfigPolicyService(CallPipeline& calls, store::Store& store);

}  // namespace det::api

#endif  // MASTER_API_POLICIES_SERVICES_H_
