// What people change of an experiment, whether it runs or has ended: its name and words, where it
// lies, how many of its checkpoints are kept. Called by experiment_service.cc on the pool; blocks.
#ifndef MASTER_API_EXPERIMENTS_EXPERIMENT_PATCH_H_
#define MASTER_API_EXPERIMENTS_EXPERIMENT_PATCH_H_

#include <string>

#include "base/clock.h"
#include "base/thread_pool.h"
#include "det/api/v1/experiment.pb.h"
#include "master/api/rpc/call.h"
#include "master/engine/engine.h"
#include "master/store/interfaces/store.h"

namespace det::api {

using Labels = google::protobuf::RepeatedPtrField<std::string>;

// Each ends the call. NOT_FOUND for an experiment that is not there, FAILED_PRECONDITION for one
// that is being deleted.
void Patch(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
           const base::Clock& clock, const v1::PatchExperimentRequest& request,
           v1::PatchExperimentResponse* response, Done done);
void Move(engine::Engine& engine, store::Store& store, const v1::MoveExperimentRequest& request,
          Done done);
// Adds one, or takes it away; OK when that is so already. `labels`: those it has then.
void Label(engine::Engine& engine, store::Store& store, model::ExperimentId id,
           const std::string& label, bool add, Labels* labels, Done done);

absl::Status Preview(store::Store& store, const v1::PreviewRetentionRequest& request,
                     v1::PreviewRetentionResponse* response);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_EXPERIMENT_PATCH_H_
