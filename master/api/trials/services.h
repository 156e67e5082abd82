// Creates the gRPC services of this folder. Their arguments must outlive them.
#ifndef MASTER_API_TRIALS_SERVICES_H_
#define MASTER_API_TRIALS_SERVICES_H_

#include <memory>

#include "base/clock.h"
#include "base/event_loop.h"
#include "base/thread_pool.h"
#include "master/api/authz/authorizer.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
#include "master/engine/engine.h"
#include "master/live/experiment_watch.h"
#include "master/store/interfaces/store.h"

namespace det::api {

std::unique_ptr<Service> MakeRunActionService(CallPipeline& calls, engine::Engine& engine,
                                              store::Store& store, Authorizer& authorizer,
                                              base::ThreadPool& pool);
std::unique_ptr<Service> MakeRunService(CallPipeline& calls, engine::Engine& engine,
                                        store::Store& store, base::ThreadPool& pool,
                                        base::EventLoop& loop, const base::Clock& clock);
std::unique_ptr<Service> MakeTrialService(CallPipeline& calls, engine::Engine& engine,
                                          store::Store& store, base::ThreadPool& pool,
                                          const base::Clock& clock, live::ExperimentWatch& watch);
std::unique_ptr<Service> MakeTrialSourceService(CallPipeline& calls, store::Store& store,
                                                Authorizer& authorizer);

}  // namespace det::api

#endif  // MASTER_API_TRIALS_SERVICES_H_
