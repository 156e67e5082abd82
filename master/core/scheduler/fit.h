// Where one gang fits into what is free, ignorant of queues and of who else waits.
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

// The best place for a gang of the class with so many slots (docs/scheduling.md, Fit): one node, or
// the fewest nodes, or none. REQUIRES a prepared pool and a compiled class.
std::optional<Fitting> Fit(const PoolState& pool, const GangClass& gang_class, int slots,
                           Horizon horizon);

// How many slots a gang of the class can have on the node.
int Usable(const PoolState& pool, const GangClass& gang_class, int rank, Horizon horizon);

// Whether gangs of the class may run on the node, were it empty: blocked, or its maintenance near.
bool MayRunOn(const PoolState& pool, const GangClass& gang_class, const NodeState& node);

// Of what is free on the node, the slots that the share takes: of one island if one suffices.
// May be fewer than asked for, if fewer are free.
Hold PickSlots(const GangClass& gang_class, const Share& share, Horizon horizon);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_FIT_H_
