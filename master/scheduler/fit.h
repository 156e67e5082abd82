// Fits one gang into what is free, ignorant of queues and priorities.
// Called by scheduler.cc. PURE.
#ifndef MASTER_SCHEDULER_FIT_H_
#define MASTER_SCHEDULER_FIT_H_

#include <optional>
#include <vector>

#include "master/model/agent.h"
#include "master/model/ids.h"
#include "master/scheduler/snapshot.h"

namespace det::scheduler {

// A node of one pool as it stands in the middle of a pass.
struct FreeNode {
  model::AgentId id;
  std::vector<int> free = {};  // ascending; empty as well when the node accepts no work
  bool accepts_work = true;
  int zero_slot_gangs = 0;  // that run here
};

// The whole gang or nothing:
//  - no slots: the accepting node with the fewest such gangs;
//  - one node, if one suffices: that with the fewest free slots, so that large holes stay large;
//  - otherwise, unless single_node: the fewest nodes that suffice, largest first, and for the rest
//    the node it fills best.
// Ties go to the smaller id, and the lowest slots of a node are taken first.
std::optional<std::vector<model::Placement>> Fit(const Gang& gang,
                                                 const std::vector<FreeNode>& nodes);

// Marks the placements as used. REQUIRES that Fit gave them for the same nodes.
void Take(const std::vector<model::Placement>& placements, std::vector<FreeNode>& nodes);

}  // namespace det::scheduler

#endif  // MASTER_SCHEDULER_FIT_H_
