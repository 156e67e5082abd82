// What fits into a pool in which nothing runs.
//
// PURE.
#ifndef MASTER_CORE_SCHEDULER_FEASIBLE_H_
#define MASTER_CORE_SCHEDULER_FEASIBLE_H_

#include <optional>
#include <string>

#include "master/core/scheduler/pool_state.h"
#include "master/core/scheduler/shape.h"

namespace det::scheduler {

// Whether one gang of the class fits into the empty pool: into all of its nodes, or only into those
// that accept work. REQUIRES a compiled class.
bool FitsEmpty(const PoolState& pool, const GangClass& gang_class, bool all_nodes);

// Whether the node has all that one gang of the class needs when it is empty.
bool CanHold(const NodeState& node, const GangClass& gang_class);
// Whether the empty node has enough for a part of the gang, or for the whole if the gang needs one
// node.
bool CanHoldPart(const NodeState& node, const GangClass& gang_class);

// Returns the most slots of the empty node that one gang of the class could use.
int MaxSlotsOn(const NodeState& node, const GangClass& gang_class);

// Returns why no gang of the class can fit, and the largest similar request that fits.
std::string DescribeInfeasible(const PoolState& pool, const GangClass& gang_class);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_FEASIBLE_H_
