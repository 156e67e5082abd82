// What the scheduler proposes: whom to start where, and whom to ask away for whom. A proposal:
// cluster/scheduling.cc checks it against the present state and applies it.
//
// PURE.
#ifndef MASTER_CORE_SCHEDULER_PLAN_H_
#define MASTER_CORE_SCHEDULER_PLAN_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "master/core/model/agent.h"
#include "master/core/model/ids.h"

namespace det::scheduler {

// Why a gang waits. Shown to the user as `text`.
struct WaitReason {
  enum class Kind {
    kNoCapacity,          // fits an empty cluster, not the present one
    kInfeasible,          // does not fit even an empty cluster
    kOverMaxSlots,        // the experiment holds its max_slots already
    kOverMaxTrials,       // the experiment runs its max_concurrent_trials already
    kOverQuota,           // its user or workspace holds, or has spent, what it may
    kNotBound,            // its workspace may not use the pool
    kBehindOthers,        // it could start, and would delay `behind`
    kAwaitingPreemption,  // others were asked to go for it
    kMaintenance,         // it could start, and would not end before a maintenance window
  };
  Kind kind = Kind::kNoCapacity;
  std::string text;  // "needs 4 slots on one agent; the largest agent of pool default has 2"
  // Of kBehindOthers: the gang that is served first.
  std::optional<model::AllocationId> behind;
  friend bool operator==(const WaitReason&, const WaitReason&) = default;
};
std::string_view ToString(WaitReason::Kind kind);  // "NO_CAPACITY"

struct Assignment {
  model::AllocationId gang;
  std::vector<model::Placement> on;
  bool backfilled = false;  // one that goes before it in its pool has been looked at, and waits
  friend bool operator==(const Assignment&, const Assignment&) = default;
};

// Ask `victim` to save and go.
struct Preemption {
  model::AllocationId victim;
  std::optional<model::AllocationId> in_favour_of;  // absent: see reason
  std::string reason;  // told to the user: "its slots are needed by 7.1.1 of priority 10"
  friend bool operator==(const Preemption&, const Preemption&) = default;
};

struct Plan {
  std::vector<Assignment> assign;   // in the order in which they were decided
  std::vector<Preemption> preempt;  // likewise
  // When time alone may change the plan (a hold begins, a maintenance window nears): look again.
  std::optional<absl::Time> look_again;
  friend bool operator==(const Plan&, const Plan&) = default;
};

using WaitReasons = std::map<model::AllocationId, WaitReason>;

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_PLAN_H_
