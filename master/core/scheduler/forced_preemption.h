// Preemptions that are not for a waiting gang: of gangs above a lowered max_slots, on nodes in
// maintenance, and of elastic gangs that could have more slots.
//
// PURE.
#ifndef MASTER_CORE_SCHEDULER_FORCED_PREEMPTION_H_
#define MASTER_CORE_SCHEDULER_FORCED_PREEMPTION_H_

#include "master/core/scheduler/pass.h"
#include "master/core/scheduler/pool_state.h"
#include "master/core/scheduler/registry.h"

namespace det::scheduler {

// Preempts the least useful gangs first, and no more than needed.
void ReleaseAboveLimits(const Registry& registry, Changes& changes);

// Preempts gangs on nodes whose maintenance has begun, and sets when the next window begins.
void DrainForMaintenance(PoolState& pool, Changes& changes);

// Preempts elastic gangs that could restart with at least 50% more slots, at most one per job: only
// if no gang waits or terminates, and at least ten minutes after the gang started.
void GrowElastic(PoolState& pool, Changes& changes);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_FORCED_PREEMPTION_H_
