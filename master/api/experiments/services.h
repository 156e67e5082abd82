// Creates the gRPC services of this folder. Their arguments must outlive them.
#ifndef MASTER_API_EXPERIMENTS_SERVICES_H_
#define MASTER_API_EXPERIMENTS_SERVICES_H_

#include <memory>

#include "base/clock.h"
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

std::unique_ptr<Service> MakeExperimentActionService(CallPipeline& calls, engine::Engine& engine,
                                                     store::Store& store, Authorizer& authorizer,
                                                     base::ThreadPool& pool);
std::unique_ptr<Service> MakeExperimentService(CallPipeline& calls, engine::Engine& engine,
                                               store::Store& store, live::ExperimentWatch& watch,
                                               base::ThreadPool& pool, const base::Clock& clock,
                                               const MasterInfo& info,
                                               const ExperimentDefaults& defaults);
std::unique_ptr<Service> MakeModelDefService(CallPipeline& calls, store::Store& store);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_SERVICES_H_
