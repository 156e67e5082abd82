// Pauses, activates, cancels and kills experiments and trials. Called by the experiment, trial and
// run action services on the pool; `done` may be called on the engine's loop.
#ifndef MASTER_API_EXPERIMENTS_STATE_CHANGE_H_
#define MASTER_API_EXPERIMENTS_STATE_CHANGE_H_

#include "base/thread_pool.h"
#include "master/api/rpc/call.h"
#include "master/auth/permissions.h"
#include "master/engine/engine.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// Each ends the call. NOT_FOUND if the experiment or trial does not exist, FAILED_PRECONDITION if
// its state does not allow the change, also if it has ended and the cluster has forgotten it.
// Canceling or killing an experiment that has ended has no effect and succeeds. The reason of what
// they end names the caller.
void Pause(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
           model::ExperimentId id, Done done);
void Activate(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
              model::ExperimentId id, Done done);
void Cancel(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
            model::ExperimentId id, const auth::Principal& caller, Done done);
void Kill(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
          model::ExperimentId id, const auth::Principal& caller, Done done);
void Kill(engine::Engine& engine, store::Store& store, base::ThreadPool& pool, model::TrialId id,
          const auth::Principal& caller, Done done);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_STATE_CHANGE_H_
