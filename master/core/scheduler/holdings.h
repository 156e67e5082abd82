// Who holds what: the one place where gangs get and lose slots in the state, so that every count
// and index follows.
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

// The gang runs there. REQUIRES that it does not run.
void Occupy(GangState& gang, std::vector<Hold> holds);
// It runs no more.
void Vacate(GangState& gang);
// None of them: a node that several leave is put into its indexes once.
void VacateAll(absl::Span<GangState* const> gangs);

// It will go soon, or not after all. REQUIRES that it runs and that this is news.
void SetLeaving(GangState& gang, bool leaving);

// The same on its nodes alone, to try what it would give: to be taken back before anything else.
void MarkLeaving(GangState& gang, bool leaving);

// Takes what is free of the hold out of what others may have, for a gang of the class.
void Claim(const GangClass& gang_class, const Hold& hold);
void Unclaim(const GangClass& gang_class, const Hold& hold);

// Puts the running gang among those that may be asked to go, by the present order of its pool; or
// takes it out.
void ListVictim(GangState& gang);
void UnlistVictim(GangState& gang);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_HOLDINGS_H_
