// How long trials of a job took: what estimates stand on where there is no max_run_time.
//
// Reads the store, hence blocks; on the pool.
#ifndef MASTER_API_QUEUE_RUNTIME_STATS_H_
#define MASTER_API_QUEUE_RUNTIME_STATS_H_

#include "absl/status/statusor.h"
#include "master/core/scheduler/estimate.h"
#include "master/core/scheduler/snapshot.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// The mean time on slots of the newest completed trials of each job that has gangs in the snapshot;
// of at most some dozens of jobs, those that run first.
absl::StatusOr<scheduler::Experience> ReadExperience(store::Store& store,
                                                     const scheduler::Snapshot& snapshot);

}  // namespace det::api

#endif  // MASTER_API_QUEUE_RUNTIME_STATS_H_
