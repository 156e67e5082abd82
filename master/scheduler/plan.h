// What the scheduler proposes: whom to start where, whom to ask away, and why everyone else waits.
// A proposal: cluster/scheduling.cc checks it against the present state and applies it.
//
// PURE.
#ifndef MASTER_SCHEDULER_PLAN_H_
#define MASTER_SCHEDULER_PLAN_H_

#include <map>
#include <string>
#include <vector>

#include "master/model/agent.h"
#include "master/model/ids.h"

namespace det::scheduler {

// Shown to the user as `text`.
struct WaitReason {
  enum class Kind {
    kNoCapacity,     // fits an empty cluster, not the present one
    kInfeasible,     // does not fit even an empty cluster
    kOverMaxSlots,   // the experiment holds its max_slots already
    kOverMaxTrials,  // the experiment runs its max_concurrent_trials already
    kBehindHigherPriority,
    kAwaitingPreemption,
  };
  Kind kind = Kind::kNoCapacity;
  std::string text;  // "needs 4 slots on one agent; the largest agent of pool default has 2"
  friend bool operator==(const WaitReason&, const WaitReason&) = default;
};

struct Plan {
  std::map<model::AllocationId, std::vector<model::Placement>> assign;
  std::vector<model::AllocationId> preempt;
  std::map<model::AllocationId, WaitReason> waiting;
  friend bool operator==(const Plan&, const Plan&) = default;
};

}  // namespace det::scheduler

#endif  // MASTER_SCHEDULER_PLAN_H_
