// Creates the gRPC services of this folder. Their arguments must outlive them.
#ifndef MASTER_API_LOGS_SERVICES_H_
#define MASTER_API_LOGS_SERVICES_H_

#include <memory>

#include "base/clock.h"
#include "master/api/common/master_info.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
#include "master/live/experiment_watch.h"
#include "master/store/interfaces/store.h"

namespace det::api {

std::unique_ptr<Service> MakeLogFieldsService(CallPipeline& calls, store::Store& store,
                                              live::ExperimentWatch& watch);
std::unique_ptr<Service> MakeLogRetentionService(CallPipeline& calls, store::Store& store,
                                                 const base::Clock& clock, const MasterInfo& info);

}  // namespace det::api

#endif  // MASTER_API_LOGS_SERVICES_H_
