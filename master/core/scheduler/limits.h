// Whether the limits of a job, its user and its workspace leave room for a gang.
//
// PURE.
#ifndef MASTER_CORE_SCHEDULER_LIMITS_H_
#define MASTER_CORE_SCHEDULER_LIMITS_H_

#include <optional>
#include <string>

#include "master/core/scheduler/plan.h"
#include "master/core/scheduler/state.h"

namespace det::scheduler {

// A limit that a gang would exceed.
struct ExceededLimit {
  WaitReason::Kind kind = WaitReason::Kind::kOverQuota;
  const JobState* job = nullptr;  // the job of the limit,
  const Owner* owner = nullptr;   // or its user or workspace
  bool permanent = false;         // the gang is larger than the limit and does not block others
};

std::optional<ExceededLimit> FindExceededLimit(const GangState& gang);

// Returns the most slots, at least the requested ones, that the limits leave to an elastic gang.
// REQUIRES that it exceeds no limit.
int SlotsWithinLimits(const GangState& gang);

// "needs 2 slots; its experiment holds 1 of max_slots 2"
std::string Describe(const ExceededLimit& exceeded, const GangState& gang, Micro held,
                     int64_t gangs);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_LIMITS_H_
