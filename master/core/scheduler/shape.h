// The resource request of a gang. Gangs of one shape are served by one search: if one of them does
// not fit, no other does.
//
// PURE.
#ifndef MASTER_CORE_SCHEDULER_SHAPE_H_
#define MASTER_CORE_SCHEDULER_SHAPE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/time/time.h"
#include "master/core/scheduler/place.h"
#include "master/core/scheduler/plan.h"
#include "master/core/scheduler/state.h"
#include "master/core/scheduler/view.h"

namespace det::scheduler {

struct Shape {
  int slots = 1;
  int max_slots = 1;  // at least `slots`
  Micro fraction = kWhole;
  int64_t cpus = 0;  // thousandths, for each slot, or for a gang without slots
  int64_t memory = 0;
  int slot_type = -1;  // model::DeviceType; -1: any
  std::string device;  // lower case
  bool single_node = false;
  std::vector<model::AgentId> blocked;  // sorted
  // Rounded up by at most an eighth; must not be less than the real one.
  absl::Duration max_run_time = absl::InfiniteDuration();

  friend bool operator==(const Shape&, const Shape&) = default;
  template <class H>
  friend H AbslHashValue(H state, const Shape& s) {
    return H::combine(std::move(state), s.slots, s.max_slots, s.fraction, s.cpus, s.memory,
                      s.slot_type, s.device, s.single_node, s.blocked, s.max_run_time);
  }
};

Shape MakeShape(const Gang& gang);
// Returns true only if both have the same shape, but not always then; cheaper than MakeShape.
bool HaveSameShape(const Gang& a, const Gang& b);

// Why the gangs of a class do not start, from one place in the order on.
struct ClassNote {
  Place at;
  WaitReason::Kind kind = WaitReason::Kind::kNoCapacity;
  std::optional<model::AllocationId> behind;
  std::string ahead;  // "7.1.1 of priority 10, which needs 4 slots"
  int64_t free = 0;
  int largest_free = 0;
  mutable std::optional<WaitReason> reason;  // cached text
};

// The waiting gangs of one shape in one pool.
struct GangClass {
  struct ByKey {
    bool operator()(const JobQueue* a, const JobQueue* b) const { return a->key < b->key; }
  };
  Shape shape;
  PoolState* pool = nullptr;
  absl::btree_set<JobQueue*, ByKey> queues;  // queues that may be served
  int members = 0;                           // running and waiting gangs

  // As of PoolState::version.
  int64_t version = -1;
  View* views[2] = {nullptr, nullptr};  // by horizon
  std::vector<bool> blocked;            // by rank; empty: none
  bool feasible = false;                // would fit if all nodes accepted work and were empty
  bool runnable = false;                // would fit if the nodes that accept work were empty
  // State of the current or last round of a pass.
  bool failed = false;  // does not fit into the free slots
  bool done = false;    // no gang of the class can start, preempt or claim any more
  bool nothing_to_claim = false;
  bool unclaimed = false;    // one of its gangs has no claim, because there are too many
  int64_t soon_failed = -1;  // PoolPass::soon_version_ when it did not fit the terminating slots
  bool no_victims = false;
  std::optional<ClassNote> note;  // why it failed

  const View& view(Horizon horizon) const { return *views[horizon]; }
  bool Matches(int device) const { return views[kNow]->Matches(device); }
  // Whether only the slots matter, so that the view suffices to fit the class.
  bool plain() const { return shape.cpus == 0 && shape.memory == 0 && blocked.empty(); }
};

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_SHAPE_H_
