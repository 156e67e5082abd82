// Where one gang fits into the free slots, regardless of the queue.
//
// PURE.
#ifndef MASTER_CORE_SCHEDULER_FIT_H_
#define MASTER_CORE_SCHEDULER_FIT_H_

#include <optional>
#include <vector>

#include "master/core/scheduler/pool_state.h"
#include "master/core/scheduler/shape.h"
#include "master/core/scheduler/state.h"

namespace det::scheduler {

struct Share {
  NodeState* node = nullptr;
  int slots = 0;
};
using Fitting = std::vector<Share>;

// Returns the best placement of a gang of the class with `slots` slots (docs/scheduling.md, Fit):
// one node, or the fewest nodes; nullopt if it does not fit. REQUIRES a prepared pool and a
// compiled class.
std::optional<Fitting> Fit(const PoolState& pool, const GangClass& gang_class, int slots,
                           Horizon horizon);

// Returns how many slots of the node a gang of the class can use.
int Usable(const PoolState& pool, const GangClass& gang_class, int rank, Horizon horizon);

// Whether gangs of the class may run on the node: it is not blocked and has no maintenance soon.
bool MayRunOn(const PoolState& pool, const GangClass& gang_class, const NodeState& node);

// Chooses the slots of the share among the free ones of the node, of one island if possible. May
// return fewer than requested if fewer are free.
Hold PickSlots(const GangClass& gang_class, const Share& share, Horizon horizon);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_FIT_H_
