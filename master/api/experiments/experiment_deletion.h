// What people do with experiments that have ended: hide them, delete them. Called by
// experiment_service.cc on the pool; blocks.
#ifndef MASTER_API_EXPERIMENTS_EXPERIMENT_DELETION_H_
#define MASTER_API_EXPERIMENTS_EXPERIMENT_DELETION_H_

#include "det/api/v1/experiment.pb.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/edge.h"

namespace det::api {

// Each ends the call; NOT_FOUND for an experiment that is not there. Delete: FAILED_PRECONDITION
// names the versions of models that hold checkpoints of it.
void Archive(const Edge& edge, model::ExperimentId id, bool archived, Done done);
void Delete(const Edge& edge, const v1::DeleteExperimentRequest& request,
            v1::DeleteExperimentResponse* response, Done done);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_EXPERIMENT_DELETION_H_
