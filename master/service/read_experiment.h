// An experiment as people see it: once, or again after each change.
// Called by the services of experiments on the pool, which waits for the database.
#ifndef MASTER_SERVICE_READ_EXPERIMENT_H_
#define MASTER_SERVICE_READ_EXPERIMENT_H_

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "det/api/v1/experiment.pb.h"
#include "master/service/edge.h"
#include "master/service/experiment_board.h"
#include "master/service/stream.h"

namespace det::service {

// What the list of experiments is to have.
store::ExperimentQuery ToQuery(const det::api::v1::GetExperimentsRequest& request);

// Reads it with the live part; `then` runs on the pool.
void ReadFull(const Edge& edge, model::ExperimentId id,
              absl::AnyInvocable<void(absl::StatusOr<det::api::v1::Experiment>)> then);

// Sends it now and after each change, until it has ended, as `board` shows it.
void WatchExperiment(const Edge& edge, std::shared_ptr<ExperimentBoard> board,
                     model::ExperimentId id,
                     std::shared_ptr<Stream<det::api::v1::WatchExperimentResponse>> stream);

}  // namespace det::service

#endif  // MASTER_SERVICE_READ_EXPERIMENT_H_
