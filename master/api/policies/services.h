// The gRPC services of this folder; api/services.cc creates them.
#ifndef MASTER_API_POLICIES_SERVICES_H_
#define MASTER_API_POLICIES_SERVICES_H_

#include <memory>

#include "master/api/rpc/edge.h"
#include "master/api/rpc/service.h"

namespace det::api {

std::unique_ptr<Service> MakeConfigPolicyService(const Edge& edge);

}  // namespace det::api

#endif  // MASTER_API_POLICIES_SERVICES_H_
