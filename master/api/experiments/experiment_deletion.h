// Archives and deletes experiments that have ended.
//
// Called by the experiment services on the pool; blocks.
#ifndef MASTER_API_EXPERIMENTS_EXPERIMENT_DELETION_H_
#define MASTER_API_EXPERIMENTS_EXPERIMENT_DELETION_H_

#include "absl/status/status.h"
#include "base/thread_pool.h"
#include "det/api/v1/experiment.pb.h"
#include "master/api/rpc/call.h"
#include "master/engine/engine.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// Each function finishes the call with `done`: with NOT_FOUND if the experiment does not exist.
// Delete() finishes with FAILED_PRECONDITION if model versions use checkpoints of the experiment,
// and sets `kept` of the response to the checkpoints that remain because other experiments use
// them.
void Archive(engine::Engine& engine, store::Store& store, model::ExperimentId id, bool archived,
             Done done);
void Delete(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
            const v1::DeleteExperimentRequest& request, v1::DeleteExperimentResponse* response,
            Done done);

// FAILED_PRECONDITION if model versions use checkpoints of an experiment that matches the query.
absl::Status CheckNotHeld(store::Store& store, const store::ExperimentQuery& query);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_EXPERIMENT_DELETION_H_
