// Creates the gRPC services of this folder. Their arguments must outlive them.
#ifndef MASTER_API_RESOURCES_SERVICES_H_
#define MASTER_API_RESOURCES_SERVICES_H_

#include <memory>

#include "base/clock.h"
#include "base/thread_pool.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
#include "master/engine/engine.h"
#include "master/store/interfaces/store.h"

namespace det::api {

std::unique_ptr<Service> MakeAgentService(CallPipeline& calls, engine::Engine& engine,
                                          const base::Clock& clock);
std::unique_ptr<Service> MakeResourcePoolService(CallPipeline& calls, engine::Engine& engine,
                                                 store::Store& store, base::ThreadPool& pool);
std::unique_ptr<Service> MakeUsageService(CallPipeline& calls, store::Store& store,
                                          const base::Clock& clock);

}  // namespace det::api

#endif  // MASTER_API_RESOURCES_SERVICES_H_
