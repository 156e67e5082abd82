// The scheduler: one pure function from the cluster as it is to what should change. Two calls with
// equal snapshots give equal plans; a cluster at rest gives an empty plan.
//
// Called by cluster/scheduling.cc on the cluster's loop. PURE.
#ifndef MASTER_SCHEDULER_SCHEDULER_H_
#define MASTER_SCHEDULER_SCHEDULER_H_

#include "master/scheduler/plan.h"
#include "master/scheduler/snapshot.h"

namespace det::scheduler {

// Orders waiting gangs by (priority, submitted), places each whole or not at all, and says why the
// others wait. A gang that does not fit holds back those of worse priority, not its equals.
Plan Schedule(const Snapshot& snapshot);

}  // namespace det::scheduler

#endif  // MASTER_SCHEDULER_SCHEDULER_H_
