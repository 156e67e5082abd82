// One resource pool with its indexes: nodes by what is free on them, gangs by how little it would
// cost to stop them.
//
// Owned by Books. PURE.
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
#include "master/core/scheduler/least_useful.h"
#include "master/core/scheduler/node_set.h"
#include "master/core/scheduler/shape.h"
#include "master/core/scheduler/state.h"
#include "master/core/scheduler/view.h"

namespace det::scheduler {

struct SoonestEnd {
  bool operator()(const GangState* a, const GangState* b) const;
};

// What is free on the nodes of a pool.
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
  bool configured = false;  // put, not only named by nodes and gangs

  std::vector<NodeState*> nodes;  // by id once !stale
  bool stale = true;              // nodes came, went or changed: the indexes are to be made anew
  int64_t version = 0;            // counts what changes what an empty pool can hold
  std::vector<std::pair<int, std::string>> devices;  // type, model in lower case
  std::vector<std::vector<int>> switches;            // ranks of the nodes below each
  Index index[2];                                    // by horizon
  std::vector<NodeState*> with_maintenance;
  absl::Time now;                    // of the last Prepare
  bool ignores_maintenance = false;  // to learn whether it is the reason

  absl::flat_hash_map<Shape, std::unique_ptr<GangClass>> classes;
  FairTree tree;  // whose branches hold what
  absl::btree_set<GangState*, LeastUseful>
      victims;                                      // that may be asked to go; but by share: `tree`
  absl::btree_set<GangState*, SoonestEnd> ending;   // that run and end by themselves
  int leaving = 0;                                  // holds of gangs that are leaving
  absl::btree_set<GangState*, SoonestEnd> elastic;  // that run with less than they could use

  std::unique_ptr<Notes> notes;  // of the last pass

  // Makes what is stale true at `now`. Call before Refresh, Compile or a fit.
  void Prepare(absl::Time time);
  // After a change of what is used, leaving or claimed on the node.
  void Refresh(NodeState& node);
  // Makes the class ready to be fitted.
  void Compile(GangClass& gang_class);

  // What the nodes that accept work have in all.
  const Usage& Total() const;
  // Whether running gangs are asked to go by what their branches hold.
  bool AsksByShare() const {
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
  // The views, by horizon, of the devices that the shape can use.
  void FindViews(const Shape& shape, View* (&views)[2]);
};

// What a node has of them that nobody has or claims.
int64_t FreeOf(const Counted& counted, Horizon horizon);
// The part of a slot that nobody has or claims.
inline Micro FreePart(const SlotState& slot, Horizon horizon) {
  if (!slot.enabled || slot.claimed) return 0;
  const Micro free = kWhole - slot.used + (horizon == kSoon ? slot.leaving : 0);
  return free > 0 ? free : 0;
}

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_POOL_STATE_H_
