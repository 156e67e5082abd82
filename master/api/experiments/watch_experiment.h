// A watched experiment as a stream: how it is, each change, and what its trials report.
// Called by the service of experiments on the pool.
#ifndef MASTER_API_EXPERIMENTS_WATCH_EXPERIMENT_H_
#define MASTER_API_EXPERIMENTS_WATCH_EXPERIMENT_H_

#include <memory>

#include "det/api/v1/experiment.pb.h"
#include "master/api/experiments/experiment_board.h"
#include "master/api/rpc/edge.h"
#include "master/api/rpc/stream.h"

namespace det::api {

// Sends it now and after each change, until it has ended, as `board` shows it. What is sent to many
// is one message, so that it is put into words once.
void WatchExperiment(const Edge& edge, std::shared_ptr<ExperimentBoard> board,
                     const v1::WatchExperimentRequest& request,
                     std::shared_ptr<Stream<v1::WatchExperimentResponse>> stream);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_WATCH_EXPERIMENT_H_
