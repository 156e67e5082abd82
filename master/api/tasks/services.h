// The gRPC services of this folder; api/services.cc creates them.
#ifndef MASTER_API_TASKS_SERVICES_H_
#define MASTER_API_TASKS_SERVICES_H_

#include <memory>

#include "master/api/rpc/edge.h"
#include "master/api/rpc/service.h"

namespace det::api {

std::unique_ptr<Service> MakeCommandService(const Edge& edge);
std::unique_ptr<Service> MakeRawService(const Edge& edge);
std::unique_ptr<Service> MakeTaskService(const Edge& edge);
std::unique_ptr<Service> MakeUnservedService(const Edge& edge);

}  // namespace det::api

#endif  // MASTER_API_TASKS_SERVICES_H_
