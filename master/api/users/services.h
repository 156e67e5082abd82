// The gRPC services of this folder; api/services.cc creates them.
#ifndef MASTER_API_USERS_SERVICES_H_
#define MASTER_API_USERS_SERVICES_H_

#include <memory>

#include "master/api/rpc/edge.h"
#include "master/api/rpc/service.h"

namespace det::api {

std::unique_ptr<Service> MakeAuthService(const Edge& edge);
std::unique_ptr<Service> MakeRoleService(const Edge& edge);
std::unique_ptr<Service> MakeTokenService(const Edge& edge);
std::unique_ptr<Service> MakeUserService(const Edge& edge);

}  // namespace det::api

#endif  // MASTER_API_USERS_SERVICES_H_
