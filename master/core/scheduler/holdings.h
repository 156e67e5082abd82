// The only functions that assign and release slots in the state and keep counts and indexes
// consistent.
//
// PURE.
#ifndef MASTER_CORE_SCHEDULER_HOLDINGS_H_
#define MASTER_CORE_SCHEDULER_HOLDINGS_H_

#include <vector>

#include "absl/types/span.h"
#include "master/core/scheduler/pool_state.h"
#include "master/core/scheduler/shape.h"
#include "master/core/scheduler/state.h"

namespace det::scheduler {

// Assigns the holds to the gang. REQUIRES that it does not run.
void Occupy(GangState& gang, std::vector<Hold> holds);
// Releases everything that the gang holds.
void Vacate(GangState& gang);
// The same for several gangs; updates the indexes of each node once.
void VacateAll(absl::Span<GangState* const> gangs);

// Sets whether the gang is terminating. REQUIRES that it runs and that this changes.
void SetTerminating(GangState& gang, bool terminating);

// The same only on its nodes, to try what would become free; must be reverted before anything else.
void MarkTerminating(GangState& gang, bool terminating);

// Reserves the free part of the hold for a gang of the class.
void Claim(const GangClass& gang_class, const Hold& hold);
void Unclaim(const GangClass& gang_class, const Hold& hold);

// Adds the running gang to, or removes it from, the possible victims in the order of its pool.
void AddVictim(GangState& gang);
void RemoveVictim(GangState& gang);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_HOLDINGS_H_
