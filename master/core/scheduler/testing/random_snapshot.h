// Small clusters with everything in them that a scheduler may meet.
#ifndef MASTER_CORE_SCHEDULER_TESTING_RANDOM_SNAPSHOT_H_
#define MASTER_CORE_SCHEDULER_TESTING_RANDOM_SNAPSHOT_H_

#include "base/rng.h"
#include "master/core/scheduler/snapshot.h"

namespace det::scheduler {

// Two pools of any policy, up to six nodes, a dozen gangs, of which some run: where a scheduler put
// them, and a few where none would have.
Snapshot RandomSnapshot(base::Rng& rng);

Node RandomNode(base::Rng& rng, int number);
Job RandomJob(base::Rng& rng, int number);
Gang RandomGang(base::Rng& rng, int number);
Limit RandomLimit(base::Rng& rng);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_TESTING_RANDOM_SNAPSHOT_H_
