// Why a gang waits, computed from the notes of the last pass.
//
// PURE.
#ifndef MASTER_CORE_SCHEDULER_REASONS_H_
#define MASTER_CORE_SCHEDULER_REASONS_H_

#include <optional>

#include "master/core/scheduler/plan.h"
#include "master/core/scheduler/registry.h"
#include "master/core/scheduler/state.h"

namespace det::scheduler {

// REQUIRES that the gang waits.
WaitReason ComputeWaitReason(const Registry& registry, const GangState& gang);

// Returns why the gang can never start: its pool, its job's max_slots, quotas. nullopt if it can.
std::optional<WaitReason> ComputePermanentReason(const Registry& registry, const GangState& gang);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_REASONS_H_
