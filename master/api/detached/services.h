// Creates the gRPC service of this folder. Its arguments must outlive it.
#ifndef MASTER_API_DETACHED_SERVICES_H_
#define MASTER_API_DETACHED_SERVICES_H_

#include <memory>

#include "base/clock.h"
#include "base/event_loop.h"
#include "base/thread_pool.h"
#include "master/api/authz/authorizer.h"
#include "master/api/common/master_info.h"
#include "master/api/experiments/experiment_config.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
#include "master/engine/engine.h"
#include "master/live/experiment_watch.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// `webhooks` is woken after changes of states.
std::unique_ptr<Service> MakeDetachedService(CallPipeline& calls, engine::Engine& engine,
                                             store::Store& store, Authorizer& authorizer,
                                             live::ExperimentWatch& watch,
                                             engine::WebhookSink& webhooks, base::ThreadPool& pool,
                                             base::EventLoop& loop, const base::Clock& clock,
                                             const MasterInfo& info,
                                             const ExperimentDefaults& defaults);

}  // namespace det::api

#endif  // MASTER_API_DETACHED_SERVICES_H_
