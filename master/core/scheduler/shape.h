// What gangs ask for, without who asks: gangs of one shape are served by one search, and when one
// of them does not fit, no other does.
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
  int64_t cpus = 0;  // thousandths, for each slot, or for the gang where it has none
  int64_t memory = 0;
  int slot_type = -1;  // model::DeviceType; -1: any
  std::string device;  // lower case
  bool single_node = false;
  std::vector<model::AgentId> blocked;  // sorted
  // Rounded up, at most by an eighth: the scheduler relies on its being enough.
  absl::Duration max_run_time = absl::InfiniteDuration();

  friend bool operator==(const Shape&, const Shape&) = default;
  template <class H>
  friend H AbslHashValue(H state, const Shape& s) {
    return H::combine(std::move(state), s.slots, s.max_slots, s.fraction, s.cpus, s.memory,
                      s.slot_type, s.device, s.single_node, s.blocked, s.max_run_time);
  }
};

Shape ShapeOf(const Gang& gang);
// True only if both have the same shape, and mostly then: cheaper than to make it.
bool AskAlike(const Gang& a, const Gang& b);

// Why the gangs of a class, from one place in the order on, do not start.
struct ClassNote {
  Place at;
  WaitReason::Kind kind = WaitReason::Kind::kNoCapacity;
  std::optional<model::AllocationId> behind;
  std::string ahead;  // "7.1.1 of priority 10, which needs 4 slots"
  int64_t free = 0;
  int largest_free = 0;
  mutable std::optional<WaitReason> reason;  // in words, once somebody asked
};

// The waiting gangs of one shape in one pool.
struct GangClass {
  struct ByKey {
    bool operator()(const JobQueue* a, const JobQueue* b) const { return a->key < b->key; }
  };
  Shape shape;
  PoolState* pool = nullptr;
  absl::btree_set<JobQueue*, ByKey> queues;  // that may be served
  int members = 0;                           // gangs that run or wait

  // As of PoolState::version.
  int64_t version = -1;
  View* views[2] = {nullptr, nullptr};  // by horizon
  std::vector<bool> blocked;            // by rank; empty: none
  bool feasible = false;                // would fit if all nodes were there and empty
  bool runnable = false;                // would fit if those that accept work were empty

  // Of the present or last round of a pass.
  bool failed = false;  // does not fit into what is free
  bool done = false;    // none of its gangs can do anything any more
  bool nothing_to_claim = false;
  bool unclaimed = false;    // one of its gangs has no claim: there are too many
  int64_t soon_failed = -1;  // what PoolPass::soon_version_ was when it did not fit what is leaving
  bool no_victims = false;
  std::optional<ClassNote> note;  // why it failed

  const View& view(Horizon horizon) const { return *views[horizon]; }
  bool Matches(int device) const { return views[kNow]->Matches(device); }
  // Nothing but slots of a kind matters: the view alone tells where it fits.
  bool plain() const { return shape.cpus == 0 && shape.memory == 0 && blocked.empty(); }
};

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_SHAPE_H_
