// Creates the gRPC services of this folder. Their arguments must outlive them.
#ifndef MASTER_API_CHECKPOINTS_SERVICES_H_
#define MASTER_API_CHECKPOINTS_SERVICES_H_

#include <memory>

#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
#include "master/checkpoint_storage/checkpoint_location.h"
#include "master/engine/engine.h"
#include "master/store/interfaces/store.h"

namespace det::api {

std::unique_ptr<Service> MakeCheckpointService(
    CallPipeline& calls, engine::Engine& engine, store::Store& store,
    const checkpoint_storage::CheckpointLocations& checkpoint_locations);

}  // namespace det::api

#endif  // MASTER_API_CHECKPOINTS_SERVICES_H_
