// One resource pool with its indexes: nodes by free slots, gangs in the order of preemption
// victims.
//
// Owned by Registry. PURE.
#ifndef MASTER_CORE_SCHEDULER_POOL_STATE_H_
#define MASTER_CORE_SCHEDULER_POOL_STATE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "master/core/model/resource_pool.h"
#include "master/core/scheduler/fair_tree.h"
#include "master/core/scheduler/node_set.h"
#include "master/core/scheduler/shape.h"
#include "master/core/scheduler/state.h"
#include "master/core/scheduler/victim_order.h"
#include "master/core/scheduler/view.h"

namespace det::scheduler {

struct SoonestEnd {
  bool operator()(const GangState* a, const GangState* b) const;
};

// The free resources of the nodes of a pool.
struct Index {
  std::vector<std::unique_ptr<View>> views;             // the same devices in both horizons
  absl::btree_set<std::tuple<Micro, int, int>> shared;  // free part, rank, slot
  std::vector<NodeSet> by_places;  // nodes with a place left, by the gangs without slots on them
};

struct Notes;

struct PoolState {
  explicit PoolState(std::string name);
  ~PoolState();

  std::string name;
  model::ResourcePool config;
  bool configured = false;  // put explicitly, not only named by nodes and gangs

  std::vector<NodeState*> nodes;  // by id once !stale
  bool stale = true;    // nodes were added, removed or changed: the indexes must be rebuilt
  int64_t version = 0;  // counts changes of what the empty pool can hold
  std::vector<std::pair<int, std::string>> devices;  // type, model in lower case
  std::vector<std::vector<int>> switches;            // ranks of the nodes below each
  Index index[2];                                    // by horizon
  std::vector<NodeState*> with_maintenance;
  absl::Time now;                    // of the last Prepare
  bool ignores_maintenance = false;  // to determine whether maintenance is the reason

  absl::flat_hash_map<Shape, std::unique_ptr<GangClass>> classes;
  FairTree tree;  // the usage of each branch
  absl::btree_set<GangState*, VictimOrder>
      victims;  // possible victims, unless the pool preempts by share (`tree`)
  absl::btree_set<GangState*, SoonestEnd> ending;  // running gangs with a max_run_time
  int terminating = 0;                             // holds of terminating gangs
  absl::btree_set<GangState*, SoonestEnd>
      elastic;  // running gangs with fewer slots than they could use

  std::unique_ptr<Notes> notes;  // of the last pass

  // Updates stale indexes as of `time`. Call before Refresh, Compile or a fit.
  void Prepare(absl::Time time);
  // Updates the indexes after a change of what is used, terminating or claimed on the node.
  void Refresh(NodeState& node);
  // Prepares the class for fits.
  void Compile(GangClass& gang_class);

  // Returns the total resources of the nodes that accept work.
  const Usage& Total() const;
  // Whether gangs are preempted by the shares of their branches.
  bool PreemptsByShare() const {
    return config.preemption && config.policy == model::SchedulingPolicy::kFairShare;
  }
  bool IsOpen(const NodeState& node) const {
    return node.node && node.node->accepts_work && !node.in_maintenance;
  }

 private:
  mutable Usage total_;
  mutable int64_t total_version_ = -1;
  void Rebuild();
  void NumberNodes();
  void NumberDevices();
  bool UpdateMaintenance();
  void RefreshView(NodeState& node, View& view, Horizon horizon);
  void RefreshShared(NodeState& node, Horizon horizon);
  void RefreshPlaces(NodeState& node, Horizon horizon);
  // Finds the views, by horizon, of the devices that the shape can use.
  void FindViews(const Shape& shape, View* (&views)[2]);
};

// Returns how much is neither used nor claimed.
int64_t CountFree(const Counted& counted, Horizon horizon);
// Returns the part of a slot that is neither used nor claimed.
inline Micro FreePart(const SlotState& slot, Horizon horizon) {
  if (!slot.enabled || slot.claimed) return 0;
  const Micro free = kWhole - slot.used + (horizon == kSoon ? slot.terminating : 0);
  return free > 0 ? free : 0;
}

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_POOL_STATE_H_
