// What people change of an experiment, whether it runs or has ended: its name and words, where it
// lies, how many of its checkpoints are kept. Called by experiment_service.cc on the pool; blocks.
#ifndef MASTER_API_EXPERIMENTS_EXPERIMENT_PATCH_H_
#define MASTER_API_EXPERIMENTS_EXPERIMENT_PATCH_H_

#include <string>

#include "det/api/v1/experiment.pb.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/edge.h"

namespace det::api {

using Labels = google::protobuf::RepeatedPtrField<std::string>;

// Each ends the call. NOT_FOUND for an experiment that is not there, FAILED_PRECONDITION for one
// that is being deleted.
void Patch(const Edge& edge, const v1::PatchExperimentRequest& request,
           v1::PatchExperimentResponse* response, Done done);
void Move(const Edge& edge, const v1::MoveExperimentRequest& request, Done done);
// Adds one, or takes it away; OK when that is so already. `labels`: those it has then.
void Label(const Edge& edge, model::ExperimentId id, const std::string& label, bool add,
           Labels* labels, Done done);

absl::Status Preview(const Edge& edge, const v1::PreviewRetentionRequest& request,
                     v1::PreviewRetentionResponse* response);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_EXPERIMENT_PATCH_H_
