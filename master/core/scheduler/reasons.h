// Why a gang waits, from the notes of the last pass.
//
// PURE.
#ifndef MASTER_CORE_SCHEDULER_REASONS_H_
#define MASTER_CORE_SCHEDULER_REASONS_H_

#include "master/core/scheduler/books.h"
#include "master/core/scheduler/plan.h"
#include "master/core/scheduler/state.h"

namespace det::scheduler {

// REQUIRES that the gang waits.
WaitReason WhyItWaits(const Books& books, const GangState& gang);

// Why it could never start, whatever ran: its pool, its job's max_slots, quotas. nullopt: it could.
std::optional<WaitReason> WhyNever(const Books& books, const GangState& gang);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_REASONS_H_
