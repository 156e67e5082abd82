// Whom to ask away though nobody waits for it: what a job holds above a max_slots that was lowered,
// what runs on a node in maintenance, and what could have more slots.
//
// PURE.
#ifndef MASTER_CORE_SCHEDULER_DUTIES_H_
#define MASTER_CORE_SCHEDULER_DUTIES_H_

#include "master/core/scheduler/books.h"
#include "master/core/scheduler/pass.h"
#include "master/core/scheduler/pool_state.h"

namespace det::scheduler {

// Least useful first, and no more than needed.
void ReleaseAboveLimits(const Books& books, Changes& changes);

// What runs on nodes whose maintenance has begun; and when the next window counts.
void DrainForMaintenance(PoolState& pool, Changes& changes);

// Elastic gangs that could start again with at least half as many slots again, at most one of a
// job: only where nobody waits or leaves, and no sooner than ten minutes after they started.
void GrowElastic(PoolState& pool, Changes& changes);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_DUTIES_H_
