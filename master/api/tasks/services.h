// Creates the gRPC services of this folder. Their arguments must outlive them.
#ifndef MASTER_API_TASKS_SERVICES_H_
#define MASTER_API_TASKS_SERVICES_H_

#include <memory>

#include "base/clock.h"
#include "base/thread_pool.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
#include "master/api/tasks/launch_settings.h"
#include "master/checkpoint_storage/checkpoint_location.h"
#include "master/engine/engine.h"
#include "master/live/experiment_watch.h"
#include "master/proxy/activity.h"
#include "master/store/interfaces/store.h"

namespace det::api {

std::unique_ptr<Service> MakeCommandService(CallPipeline& calls, engine::Engine& engine,
                                            store::Store& store, base::ThreadPool& pool,
                                            const base::Clock& clock, proxy::Activity& activity,
                                            LaunchSettings settings);
std::unique_ptr<Service> MakeRawService(
    CallPipeline& calls, engine::Engine& engine, store::Store& store,
    const checkpoint_storage::CheckpointLocations& checkpoint_locations);
std::unique_ptr<Service> MakeTaskService(CallPipeline& calls, engine::Engine& engine,
                                         store::Store& store, base::ThreadPool& pool,
                                         live::ExperimentWatch& watch);
std::unique_ptr<Service> MakeGenericTaskService(CallPipeline& calls, engine::Engine& engine,
                                                store::Store& store, base::ThreadPool& pool,
                                                LaunchSettings settings);

}  // namespace det::api

#endif  // MASTER_API_TASKS_SERVICES_H_
