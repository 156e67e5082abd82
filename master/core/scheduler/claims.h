// What waiting gangs hold until they have all they need.
//
// PURE.
#ifndef MASTER_CORE_SCHEDULER_CLAIMS_H_
#define MASTER_CORE_SCHEDULER_CLAIMS_H_

#include <vector>

#include "absl/time/time.h"
#include "master/core/scheduler/fit.h"
#include "master/core/scheduler/pool_state.h"
#include "master/core/scheduler/state.h"

namespace det::scheduler {

struct ClaimState {
  GangState* gang = nullptr;
  std::vector<Hold> holds;
  // Nobody leaves for it: what falls free goes to it before it goes to those behind.
  bool lacks = false;
  // Work that ends by then may use it meanwhile. InfinitePast: none may.
  absl::Time whole_at = absl::InfinitePast();
};

// What a gang that fits nowhere should hold of what is free: all that it can use if it may run on
// several nodes; otherwise of one node, that which has all it needs first, as far as that is known,
// then that with the most free. Without slots: cpus and memory of the node that lacks the least.
// May be nothing. Takes nothing yet.
ClaimState ChooseClaim(const PoolState& pool, GangState& gang);

// The holds of a fitting.
std::vector<Hold> HoldsOf(const GangClass& gang_class, const Fitting& fitting, Horizon horizon);

// Whether a claim that lacks something would have some of what the gang holds, were it to leave.
bool WouldTake(const ClaimState& claim, const GangState& leaving);

void Apply(const ClaimState& claim);
void Release(const ClaimState& claim);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_CLAIMS_H_
