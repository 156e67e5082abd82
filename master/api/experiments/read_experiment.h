// An experiment, or a trial, as people see it.
// Called by the services of experiments on the pool, which waits for the database.
#ifndef MASTER_API_EXPERIMENTS_READ_EXPERIMENT_H_
#define MASTER_API_EXPERIMENTS_READ_EXPERIMENT_H_

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "det/api/v1/experiment.pb.h"
#include "det/api/v1/trial.pb.h"
#include "master/api/rpc/edge.h"
#include "master/store/interfaces/records.h"

namespace det::api {

// What the list of experiments is to have.
store::ExperimentQuery ToQuery(const v1::GetExperimentsRequest& request);

// Reads it with the live part; `then` runs on the pool.
void ReadFull(const Edge& edge, model::ExperimentId id,
              absl::AnyInvocable<void(absl::StatusOr<v1::Experiment>)> then);

// As ReadFull.
void ReadTrial(const Edge& edge, model::TrialId id,
               absl::AnyInvocable<void(absl::StatusOr<v1::Trial>)> then);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_READ_EXPERIMENT_H_
