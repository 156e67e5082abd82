// Durations of completed trials, from which start times are estimated for jobs without
// max_run_time.
//
// Reads the store; call it on the pool.
#ifndef MASTER_API_QUEUE_RUNTIME_STATS_H_
#define MASTER_API_QUEUE_RUNTIME_STATS_H_

#include "absl/status/statusor.h"
#include "master/core/scheduler/estimate.h"
#include "master/core/scheduler/snapshot.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// Returns the mean time on slots of the newest completed trials of each job that has gangs in the
// snapshot. Limited to some dozens of jobs; running jobs have precedence.
absl::StatusOr<scheduler::RuntimeStats> ReadRuntimeStats(store::Store& store,
                                                         const scheduler::Snapshot& snapshot);

}  // namespace det::api

#endif  // MASTER_API_QUEUE_RUNTIME_STATS_H_
