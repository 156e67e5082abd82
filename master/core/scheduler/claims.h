// Claims: slots that are held for waiting gangs until they can start.
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
  // No gang is being preempted for it: slots that become free go to it before gangs behind it.
  bool lacks = false;
  // Gangs that end by then may use the claimed slots meanwhile. InfinitePast: none may.
  absl::Time whole_at = absl::InfinitePast();
};

// Chooses which free slots a gang that fits nowhere should claim: all that it can use if it may run
// on several nodes; otherwise those of one node, the one that has all it needs first, if that is
// known, or the one with the most free slots. Without slots: cpus and memory of the node that lacks
// the least. May be empty. Does not apply the claim.
ClaimState ChooseClaim(const PoolState& pool, GangState& gang);

// Converts a fitting to holds.
std::vector<Hold> MakeHolds(const GangClass& gang_class, const Fitting& fitting, Horizon horizon);

// Whether an incomplete claim would get some of what the gang holds if the gang released it.
bool WouldTake(const ClaimState& claim, const GangState& terminating);

void Apply(const ClaimState& claim);
void Release(const ClaimState& claim);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_CLAIMS_H_
