// Creates the gRPC services of this folder. Their arguments must outlive them.
#ifndef MASTER_API_MODELS_SERVICES_H_
#define MASTER_API_MODELS_SERVICES_H_

#include <memory>

#include "base/clock.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
#include "master/store/interfaces/store.h"

namespace det::api {

std::unique_ptr<Service> MakeModelService(CallPipeline& calls, store::Store& store,
                                          const base::Clock& clock);

}  // namespace det::api

#endif  // MASTER_API_MODELS_SERVICES_H_
