// The gRPC services of this folder; api/services.cc creates them.
#ifndef MASTER_API_EXPERIMENTS_SERVICES_H_
#define MASTER_API_EXPERIMENTS_SERVICES_H_

#include <memory>

#include "master/api/rpc/edge.h"
#include "master/api/rpc/service.h"

namespace det::api {

std::unique_ptr<Service> MakeExperimentActionService(const Edge& edge);
std::unique_ptr<Service> MakeExperimentService(const Edge& edge);
std::unique_ptr<Service> MakeModelDefService(const Edge& edge);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_SERVICES_H_
