// What a pass leaves behind to answer why somebody waits, without a text for each who does.
//
// PURE.
#ifndef MASTER_CORE_SCHEDULER_NOTES_H_
#define MASTER_CORE_SCHEDULER_NOTES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "master/core/scheduler/order.h"
#include "master/core/scheduler/place.h"
#include "master/core/scheduler/plan.h"
#include "master/core/scheduler/state.h"

namespace det::scheduler {

// A limit that refused a gang and with it all behind.
struct Closed {
  Place at;
  WaitReason::Kind kind = WaitReason::Kind::kOverQuota;
  Micro held = 0;
  int64_t gangs = 0;
};

// Of one pool, besides the notes of its classes.
struct Notes {
  std::unique_ptr<Order> order;
  absl::flat_hash_map<const void*, Closed> closed;  // by JobState or Owner
  // Waiting gangs that will have what others are leaving: those.
  absl::flat_hash_map<model::AllocationId, std::vector<model::AllocationId>> awaiting;
};

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_NOTES_H_
