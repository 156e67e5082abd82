// Creates the gRPC services of this folder. Their arguments must outlive them.
#ifndef MASTER_API_RUNTIME_SERVICES_H_
#define MASTER_API_RUNTIME_SERVICES_H_

#include <memory>

#include "base/clock.h"
#include "base/event_loop.h"
#include "base/thread_pool.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
#include "master/api/runtime/all_gather.h"
#include "master/auth/authenticator.h"
#include "master/engine/engine.h"
#include "master/live/allocation_watch.h"
#include "master/live/experiment_watch.h"
#include "master/live/life_signs.h"
#include "master/store/interfaces/store.h"
#include "master/webhooks/trigger_watch.h"

namespace det::api {

std::unique_ptr<Service> MakeTaskRuntimeService(CallPipeline& calls, engine::Engine& engine,
                                                store::Store& store, live::ExperimentWatch& watch,
                                                live::AllocationWatch& allocations,
                                                AllGather& all_gather,
                                                webhooks::TriggerWatch* triggers,
                                                live::LifeSigns& life_signs, base::ThreadPool& pool,
                                                base::EventLoop& loop, const base::Clock& clock);
std::unique_ptr<Service> MakeTrialRuntimeService(CallPipeline& calls, engine::Engine& engine,
                                                 store::Store& store, live::ExperimentWatch& watch,
                                                 live::AllocationWatch& allocations,
                                                 AllGather& all_gather,
                                                 webhooks::TriggerWatch* triggers,
                                                 base::ThreadPool& pool, const base::Clock& clock);

}  // namespace det::api

#endif  // MASTER_API_RUNTIME_SERVICES_H_
