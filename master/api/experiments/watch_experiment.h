// The stream WatchExperiment: the state of an experiment, its changes, and its trials' reports.
//
// Called by the experiment service on the pool.
#ifndef MASTER_API_EXPERIMENTS_WATCH_EXPERIMENT_H_
#define MASTER_API_EXPERIMENTS_WATCH_EXPERIMENT_H_

#include <memory>

#include "det/api/v1/experiment.pb.h"
#include "master/api/experiments/shared_experiment_reader.h"
#include "master/api/rpc/stream.h"
#include "master/live/experiment_watch.h"

namespace det::api {

// Sends the experiment as `reader` returns it: now, and after each change until it has ended.
// Streams of the same experiment share their messages, so that each is serialized once.
void WatchExperiment(live::ExperimentWatch& watch, std::shared_ptr<SharedExperimentReader> reader,
                     const v1::WatchExperimentRequest& request,
                     std::shared_ptr<Stream<v1::WatchExperimentResponse>> stream);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_WATCH_EXPERIMENT_H_
