// Effects as a function of state: what an allocation still calls for, whatever was sent before.
// Used at start, when an agent connects, and in tests. PURE.
#ifndef MASTER_CORE_CLUSTER_REGENERATE_H_
#define MASTER_CORE_CLUSTER_REGENERATE_H_

#include <vector>

#include "master/core/cluster/state.h"

namespace det::cluster {

// All that `allocation` calls for; with an agent, the orders to that agent and the news.
std::vector<Effect> EffectsOf(const Cluster::State& state, const experiment::Allocation& allocation,
                              const model::AgentId* agent);

// When its AllocationDeadline is due; InfiniteFuture: never.
absl::Time DeadlineOf(const Cluster::State& state, const experiment::Allocation& allocation);

// How long it has to save and leave when it is asked to now: its preemption_timeout, but no longer
// than leaves the grace of a stop before the end of its max_run_time.
absl::Duration TimeToSave(const Cluster::State& state, const experiment::Allocation& allocation,
                          absl::Time now);

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_REGENERATE_H_
