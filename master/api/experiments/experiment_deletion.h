// What people do with experiments that have ended: hide them, delete them. Called by
// experiment_service.cc on the pool; blocks.
#ifndef MASTER_API_EXPERIMENTS_EXPERIMENT_DELETION_H_
#define MASTER_API_EXPERIMENTS_EXPERIMENT_DELETION_H_

#include "base/thread_pool.h"
#include "det/api/v1/experiment.pb.h"
#include "master/api/rpc/call.h"
#include "master/engine/engine.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// Each ends the call; NOT_FOUND for an experiment that is not there. Delete: FAILED_PRECONDITION
// names the versions of models that hold checkpoints of it.
void Archive(engine::Engine& engine, store::Store& store, model::ExperimentId id, bool archived,
             Done done);
void Delete(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
            const v1::DeleteExperimentRequest& request, v1::DeleteExperimentResponse* response,
            Done done);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_EXPERIMENT_DELETION_H_
