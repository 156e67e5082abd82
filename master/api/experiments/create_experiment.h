// Prepares the events CreateExperiment and ContinueExperiment: checks a request, and completes its
// configuration.
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
  std::vector<std::string> warnings;  // about the configuration, each with its line
};

// The resource pools of the cluster.
struct Pools {
  std::string default_compute, default_aux;  // for experiments that name no pool
  std::vector<std::string> names;
};

// Prepares a new experiment. Stores nothing. INVALID_ARGUMENT with every problem of the
// configuration, or the first one of the context directory; NOT_FOUND and FAILED_PRECONDITION if
// the project does not exist or is archived (common/project_resolver.h); PERMISSION_DENIED if the
// caller, who will own the experiment, may not create it there, or if a policy forbids a value
// (policies/config_policy.h).
absl::StatusOr<Submission> PrepareSubmission(store::Store& store,
                                             const ExperimentDefaults& defaults,
                                             const std::string& cluster_id,
                                             const v1::CreateExperimentRequest& request,
                                             const Pools& pools, const auth::Principal& principal);

// Prepares the continuation of an ended experiment. NOT_FOUND if it does not exist,
// INVALID_ARGUMENT for invalid changes, PERMISSION_DENIED for changes by another user than the
// owner: its tasks act as the owner.
absl::StatusOr<cluster::ContinueExperiment> PrepareContinuation(
    store::Store& store, const ExperimentDefaults& defaults,
    const v1::ContinueExperimentRequest& request, const auth::Principal& principal);

// Finds the experiment that an earlier call of the user with this request id created.
absl::StatusOr<std::optional<model::ExperimentId>> FindByRequestId(store::Store& store,
                                                                   model::UserId owner,
                                                                   const std::string& request_id);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_CREATE_EXPERIMENT_H_
