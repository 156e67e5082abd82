// Creates the gRPC services of this folder. Their arguments must outlive them.
#ifndef MASTER_API_WORKSPACES_SERVICES_H_
#define MASTER_API_WORKSPACES_SERVICES_H_

#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/thread_pool.h"
#include "master/api/experiments/experiment_config.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
#include "master/auth/authenticator.h"
#include "master/core/model/role.h"
#include "master/engine/engine.h"
#include "master/store/interfaces/store.h"

namespace det::api {

std::unique_ptr<Service> MakeKubernetesService(CallPipeline& calls, store::Store& store);
std::unique_ptr<Service> MakeProjectService(CallPipeline& calls, engine::Engine& engine,
                                            store::Store& store, const base::Clock& clock);
std::unique_ptr<Service> MakeTemplateService(CallPipeline& calls, store::Store& store);
std::unique_ptr<Service> MakeWorkspaceService(CallPipeline& calls, engine::Engine& engine,
                                              store::Store& store,
                                              auth::Authenticator& authenticator,
                                              base::ThreadPool& pool, const base::Clock& clock,
                                              const ExperimentDefaults& defaults,
                                              std::optional<model::RoleId> creator_role);

}  // namespace det::api

#endif  // MASTER_API_WORKSPACES_SERVICES_H_
