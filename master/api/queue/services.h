// Creates the gRPC services of this folder. Their arguments must outlive them.
#ifndef MASTER_API_QUEUE_SERVICES_H_
#define MASTER_API_QUEUE_SERVICES_H_

#include <memory>

#include "base/clock.h"
#include "base/thread_pool.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
#include "master/engine/engine.h"
#include "master/store/interfaces/store.h"

namespace det::api {

std::unique_ptr<Service> MakeJobService(CallPipeline& calls, engine::Engine& engine,
                                        store::Store& store, base::ThreadPool& pool,
                                        const base::Clock& clock, bool strict_queue);

}  // namespace det::api

#endif  // MASTER_API_QUEUE_SERVICES_H_
