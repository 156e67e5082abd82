// Whether what a job, its user and its workspace may hold leaves room for one more gang.
//
// PURE.
#ifndef MASTER_CORE_SCHEDULER_LIMITS_H_
#define MASTER_CORE_SCHEDULER_LIMITS_H_

#include <optional>
#include <string>

#include "master/core/scheduler/plan.h"
#include "master/core/scheduler/state.h"

namespace det::scheduler {

// A limit that has no room for a gang.
struct Refusal {
  WaitReason::Kind kind = WaitReason::Kind::kOverQuota;
  const JobState* job = nullptr;  // whose limit it is: this one's
  const Owner* owner = nullptr;   // or this one's
  bool for_ever = false;          // the gang is larger than the limit: it holds back nobody
};

std::optional<Refusal> RefusedBy(const GangState& gang);

// The most slots, of at least those it asks for, that the limits leave an elastic gang.
// REQUIRES that none refuses it.
int SlotsWithinLimits(const GangState& gang);

// "needs 2 slots; its experiment holds 1 of max_slots 2"
std::string Describe(const Refusal& refusal, const GangState& gang, Micro held, int64_t gangs);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_LIMITS_H_
