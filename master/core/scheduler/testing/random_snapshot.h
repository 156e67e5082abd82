// Random small clusters that cover the input of a scheduler.
#ifndef MASTER_CORE_SCHEDULER_TESTING_RANDOM_SNAPSHOT_H_
#define MASTER_CORE_SCHEDULER_TESTING_RANDOM_SNAPSHOT_H_

#include "base/rng.h"
#include "master/core/scheduler/snapshot.h"

namespace det::scheduler {

// Returns two pools of any policy, up to six nodes, a dozen gangs, some of them running: most where
// a scheduler placed them, a few where it would not.
Snapshot RandomSnapshot(base::Rng& rng);

Node RandomNode(base::Rng& rng, int number);
Job RandomJob(base::Rng& rng, int number);
Gang RandomGang(base::Rng& rng, int number);
Limit RandomLimit(base::Rng& rng);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_TESTING_RANDOM_SNAPSHOT_H_
