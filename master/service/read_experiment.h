// An experiment, or a trial, as people see it.
// Called by the services of experiments on the pool, which waits for the database.
#ifndef MASTER_SERVICE_READ_EXPERIMENT_H_
#define MASTER_SERVICE_READ_EXPERIMENT_H_

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "det/api/v1/experiment.pb.h"
#include "det/api/v1/trial.pb.h"
#include "master/service/edge.h"
#include "master/store/records.h"

namespace det::service {

// What the list of experiments is to have.
store::ExperimentQuery ToQuery(const det::api::v1::GetExperimentsRequest& request);

// Reads it with the live part; `then` runs on the pool.
void ReadFull(const Edge& edge, model::ExperimentId id,
              absl::AnyInvocable<void(absl::StatusOr<det::api::v1::Experiment>)> then);

// As ReadFull.
void ReadTrial(const Edge& edge, model::TrialId id,
               absl::AnyInvocable<void(absl::StatusOr<det::api::v1::Trial>)> then);

}  // namespace det::service

#endif  // MASTER_SERVICE_READ_EXPERIMENT_H_
