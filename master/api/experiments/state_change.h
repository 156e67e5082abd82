// What people ask of experiments and trials that have not ended: wait, go on, end. Called by the
// experiment, trial and run action services on the pool; `done` may come on the engine's loop.
#ifndef MASTER_API_EXPERIMENTS_STATE_CHANGE_H_
#define MASTER_API_EXPERIMENTS_STATE_CHANGE_H_

#include "master/api/rpc/call.h"
#include "master/api/rpc/edge.h"

namespace det::api {

// Each ends the call. NOT_FOUND for what is not there, FAILED_PRECONDITION for what is in another
// state, also for what has ended and the cluster has forgotten; OK where it has ended as was asked.
void Pause(const Edge& edge, model::ExperimentId id, Done done);
void Activate(const Edge& edge, model::ExperimentId id, Done done);
void Cancel(const Edge& edge, model::ExperimentId id, Done done);
void Kill(const Edge& edge, model::ExperimentId id, Done done);
void Kill(const Edge& edge, model::TrialId id, Done done);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_STATE_CHANGE_H_
