// A watched experiment as a stream: how it is, each change, and what its trials report.
// Called by the service of experiments on the pool.
#ifndef MASTER_SERVICE_WATCH_EXPERIMENT_H_
#define MASTER_SERVICE_WATCH_EXPERIMENT_H_

#include <memory>

#include "det/api/v1/experiment.pb.h"
#include "master/service/edge.h"
#include "master/service/experiment_board.h"
#include "master/service/stream.h"

namespace det::service {

// Sends it now and after each change, until it has ended, as `board` shows it. What is sent to many
// is one message, so that it is put into words once.
void WatchExperiment(const Edge& edge, std::shared_ptr<ExperimentBoard> board,
                     const det::api::v1::WatchExperimentRequest& request,
                     std::shared_ptr<Stream<det::api::v1::WatchExperimentResponse>> stream);

}  // namespace det::service

#endif  // MASTER_SERVICE_WATCH_EXPERIMENT_H_
