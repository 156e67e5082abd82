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
// others wait. Pools do not touch each other. Inside a pool:
//  - A gang that would fit the pool when empty, but not now, holds back those of worse priority:
//  they
//    would take the slots that it waits for. It does not hold back its equals, so that small gangs
//    fill holes beside a large one.
//  - Gangs that cannot run whatever becomes free (infeasible, over their job's max_slots) hold back
//    nobody. Neither do gangs without slots: they compete for nothing.
//  - Agents that accept no work now count for what is feasible, since they may come back; but a
//  gang
//    that needs them waits without holding back those who do not.
// What runs is never moved and, in this version, never preempted.
Plan Schedule(const Snapshot& snapshot);

}  // namespace det::scheduler

#endif  // MASTER_SCHEDULER_SCHEDULER_H_
