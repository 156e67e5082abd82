// The order of the queue. Called by scheduler.cc. PURE.
#ifndef MASTER_SCHEDULER_ORDER_H_
#define MASTER_SCHEDULER_ORDER_H_

#include <vector>

#include "master/scheduler/snapshot.h"

namespace det::scheduler {

// The waiting gangs by (priority, submitted, id). Pointers into the snapshot.
std::vector<const Gang*> WaitingInOrder(const Snapshot& snapshot);

}  // namespace det::scheduler

#endif  // MASTER_SCHEDULER_ORDER_H_
