// What a pool could hold if nothing ran in it.
//
// PURE.
#ifndef MASTER_CORE_SCHEDULER_FEASIBLE_H_
#define MASTER_CORE_SCHEDULER_FEASIBLE_H_

#include <optional>
#include <string>

#include "master/core/scheduler/pool_state.h"
#include "master/core/scheduler/shape.h"

namespace det::scheduler {

// Whether one gang of the class fits into the empty pool: into all of its nodes, as if all accepted
// work, or into those that do. REQUIRES that the class has its view.
bool FitsEmpty(const PoolState& pool, const GangClass& gang_class, bool all_nodes);

// Whether the node has all that one gang of the class needs when it is empty.
bool CanHold(const NodeState& node, const GangClass& gang_class);
// Whether it has that, when it is empty, of a part of one: all of it where the gang needs one node.
bool CanHoldPart(const NodeState& node, const GangClass& gang_class);

// The most slots that one gang of the class could have of the empty node.
int MostOn(const NodeState& node, const GangClass& gang_class);

// Why no gang of the class ever fits, and the largest of its kind that does.
std::string WhyInfeasible(const PoolState& pool, const GangClass& gang_class);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_FEASIBLE_H_
