// What CreateExperiment checks and stores before the cluster hears of it.
//
// Called by experiment_service.cc on the pool; blocks.
#ifndef MASTER_API_EXPERIMENTS_CREATE_EXPERIMENT_H_
#define MASTER_API_EXPERIMENTS_CREATE_EXPERIMENT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "det/api/v1/experiment.pb.h"
#include "master/api/experiments/context_archive.h"
#include "master/api/experiments/experiment_config.h"
#include "master/auth/permissions.h"
#include "master/core/cluster/event.h"
#include "master/store/interfaces/store.h"

namespace det::api {

struct Submission {
  cluster::CreateExperiment event;
  ContextArchive context;
  std::vector<std::string> warnings;  // of the configuration, each with its line
};

// The resource pools that the cluster has.
struct Pools {
  std::string default_compute, default_aux;  // of those who name none
  std::vector<std::string> names;
};

// PERMISSION_DENIED for what a policy does not leave to users (config_policy.h).
// INVALID_ARGUMENT with every problem of the configuration, or the first of the context directory;
// NOT_FOUND and FAILED_PRECONDITION of its project (experiment_details.h), PERMISSION_DENIED for
// one in which the caller, who will own it, may not create. Stores nothing.
absl::StatusOr<Submission> PrepareSubmission(store::Store& store,
                                             const ExperimentDefaults& defaults,
                                             const std::string& cluster_id,
                                             const v1::CreateExperimentRequest& request,
                                             const Pools& pools, const auth::Principal& principal);

// What ContinueExperiment submits. NOT_FOUND for the experiment, INVALID_ARGUMENT for the changes.
absl::StatusOr<cluster::ContinueExperiment> PrepareContinuation(
    store::Store& store, const ExperimentDefaults& defaults,
    const v1::ContinueExperimentRequest& request);

// The experiment that an earlier call of the user with this request id made.
absl::StatusOr<std::optional<model::ExperimentId>> FindByRequestId(store::Store& store,
                                                                   model::UserId owner,
                                                                   const std::string& request_id);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_CREATE_EXPERIMENT_H_
