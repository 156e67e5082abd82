// Changes the properties of an experiment, while it runs or after it has ended: name, description,
// labels, notes, resources, project, and checkpoint retention.
//
// Called by the experiment services on the pool; blocks.
#ifndef MASTER_API_EXPERIMENTS_EXPERIMENT_PATCH_H_
#define MASTER_API_EXPERIMENTS_EXPERIMENT_PATCH_H_

#include <string>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/thread_pool.h"
#include "det/api/v1/experiment.pb.h"
#include "master/api/rpc/call.h"
#include "master/engine/engine.h"
#include "master/store/interfaces/store.h"

namespace det::api {

using Labels = google::protobuf::RepeatedPtrField<std::string>;

// Each function finishes the call with `done`: with NOT_FOUND if the experiment does not exist,
// with FAILED_PRECONDITION if it is being deleted.
void Patch(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
           const base::Clock& clock, const v1::PatchExperimentRequest& request,
           v1::PatchExperimentResponse* response, Done done);
void Move(engine::Engine& engine, store::Store& store, const v1::MoveExperimentRequest& request,
          Done done);
// Adds or removes a label; OK if the experiment has it, or does not have it, already. Sets `labels`
// to the resulting labels.
void SetLabel(engine::Engine& engine, store::Store& store, model::ExperimentId id,
              const std::string& label, bool add, Labels* labels, Done done);

// Sets the response to the checkpoints that the requested retention policy would remove.
absl::Status Preview(store::Store& store, const v1::PreviewRetentionRequest& request,
                     v1::PreviewRetentionResponse* response);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_EXPERIMENT_PATCH_H_
