// Creates the gRPC services of this folder. Their arguments must outlive them.
#ifndef MASTER_API_USERS_SERVICES_H_
#define MASTER_API_USERS_SERVICES_H_

#include <memory>

#include "base/clock.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
#include "master/auth/authenticator.h"
#include "master/auth/password_queue.h"
#include "master/store/interfaces/store.h"

namespace det::api {

std::unique_ptr<Service> MakeAuthService(CallPipeline& calls, store::Store& store,
                                         auth::Authenticator& authenticator,
                                         auth::PasswordQueue& passwords, const base::Clock& clock,
                                         bool allow_blank_passwords);
std::unique_ptr<Service> MakeGroupService(CallPipeline& calls, store::Store& store,
                                          auth::Authenticator& authenticator);
std::unique_ptr<Service> MakeRoleService(CallPipeline& calls, store::Store& store,
                                         auth::Authenticator& authenticator);
std::unique_ptr<Service> MakeTokenService(CallPipeline& calls, store::Store& store,
                                          auth::Authenticator& authenticator,
                                          const base::Clock& clock);
std::unique_ptr<Service> MakeUserService(CallPipeline& calls, store::Store& store,
                                         auth::Authenticator& authenticator,
                                         auth::PasswordQueue& passwords, const base::Clock& clock,
                                         bool allow_blank_passwords);

}  // namespace det::api

#endif  // MASTER_API_USERS_SERVICES_H_
