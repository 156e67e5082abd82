// Effects as a function of the state: what an allocation still requires, whatever was sent before.
// Used at start, when an agent connects, and in tests. PURE.
#ifndef MASTER_CORE_CLUSTER_REGENERATE_H_
#define MASTER_CORE_CLUSTER_REGENERATE_H_

#include <vector>

#include "absl/time/time.h"
#include "master/core/cluster/state.h"

namespace det::cluster {

// Returns all effects that `allocation` requires; with an agent, only the commands to that agent
// and the announcements.
std::vector<Effect> ComputeEffects(const Cluster::State& state,
                                   const experiment::Allocation& allocation,
                                   const model::AgentId* agent);

// Returns when the AllocationDeadline of the allocation is due; InfiniteFuture if never.
absl::Time ComputeDeadline(const Cluster::State& state, const experiment::Allocation& allocation);

// Returns how long the allocation may take to checkpoint and exit if it is preempted now: its
// preemption_timeout, shortened so that the grace period of a stop ends with its max_run_time.
absl::Duration GetPreemptionGrace(const Cluster::State& state,
                                  const experiment::Allocation& allocation, absl::Time now);

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_REGENERATE_H_
