// Which slots are taken, and which allocations have a share on which agent. Part of the cluster's
// memory; derived from its allocations.
//
// Included by this folder's sources alone. PURE.
#ifndef MASTER_CORE_CLUSTER_SLOT_INDEX_H_
#define MASTER_CORE_CLUSTER_SLOT_INDEX_H_

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "master/core/experiment/allocation.h"
#include "master/core/model/agent.h"
#include "master/core/model/ids.h"

namespace det::cluster {

class SlotIndex {
 public:
  // What the allocation holds now.
  void Put(const experiment::Allocation& allocation);
  void Remove(const model::AllocationId& id);

  // Those with a share on the agent, exited shares included; by id.
  std::vector<model::AllocationId> On(const model::AgentId& agent) const;
  // Whether `fraction` of each of these slots is free.
  bool HasRoom(const model::Placement& placement, double fraction) const;

 private:
  struct Machine {
    std::map<int, int64_t> used;  // parts, by slot; absent: 0
    std::set<model::AllocationId> allocations;
  };
  struct Held {
    std::vector<model::Placement> on;      // of shares that have not exited
    std::vector<model::AgentId> machines;  // of all shares
    int64_t parts = 0;                     // of each slot
  };

  std::map<model::AgentId, Machine> machines_;
  std::map<model::AllocationId, Held> held_;
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_SLOT_INDEX_H_
