// The output of a scheduling pass: assignments and preemptions. cluster/scheduling.cc checks the
// plan against the current state and applies it.
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
    kNoCapacity,          // fits an empty cluster, but not the current one
    kInfeasible,          // does not fit even an empty cluster
    kOverMaxSlots,        // the experiment already holds its max_slots
    kOverMaxTrials,       // the experiment already runs its max_concurrent_trials
    kOverQuota,           // the quota of its user or workspace is exhausted
    kNotBound,            // its workspace may not use the pool
    kBehindOthers,        // it could start, but would delay `behind`
    kAwaitingPreemption,  // it waits for preempted gangs to exit
    kMaintenance,         // it could start, but would not end before a maintenance window
  };
  Kind kind = Kind::kNoCapacity;
  std::string text;  // "needs 4 slots on one agent; the largest agent of pool default has 2"
  // For kBehindOthers: the gang that is served first.
  std::optional<model::AllocationId> behind;
  friend bool operator==(const WaitReason&, const WaitReason&) = default;
};
std::string_view ToString(WaitReason::Kind kind);  // "NO_CAPACITY"

struct Assignment {
  model::AllocationId gang;
  std::vector<model::Placement> on;
  bool backfilled = false;  // started ahead of a higher-ranked gang of its pool that waits
  friend bool operator==(const Assignment&, const Assignment&) = default;
};

// Preempts `victim`.
struct Preemption {
  model::AllocationId victim;
  std::optional<model::AllocationId> preemptor;  // absent: see `reason`
  std::string reason;  // shown to the user: "its slots are needed by 7.1.1 of priority 10"
  friend bool operator==(const Preemption&, const Preemption&) = default;
};

struct Plan {
  std::vector<Assignment> assign;   // in the order in which they were decided
  std::vector<Preemption> preempt;  // in the order in which they were decided
  // When the plan may change without an event (a claim begins, a maintenance window nears).
  std::optional<absl::Time> look_again;
  friend bool operator==(const Plan&, const Plan&) = default;
};

using WaitReasons = std::map<model::AllocationId, WaitReason>;

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_PLAN_H_
