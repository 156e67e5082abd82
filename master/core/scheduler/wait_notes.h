// What a pass records to explain why gangs wait, without a text for each gang.
//
// PURE.
#ifndef MASTER_CORE_SCHEDULER_WAIT_NOTES_H_
#define MASTER_CORE_SCHEDULER_WAIT_NOTES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "master/core/scheduler/order.h"
#include "master/core/scheduler/place.h"
#include "master/core/scheduler/plan.h"
#include "master/core/scheduler/state.h"

namespace det::scheduler {

// A limit that a gang would exceed, which also blocks the gangs behind it.
struct Closed {
  Place at;
  WaitReason::Kind kind = WaitReason::Kind::kOverQuota;
  Micro held = 0;
  int64_t gangs = 0;
};

// The notes of one pool, besides those of its classes.
struct Notes {
  std::unique_ptr<Order> order;
  absl::flat_hash_map<const void*, Closed> closed;  // by JobState or Owner
  // Gangs that wait for the slots of terminating gangs, with those.
  absl::flat_hash_map<model::AllocationId, std::vector<model::AllocationId>> awaiting;
};

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_WAIT_NOTES_H_
