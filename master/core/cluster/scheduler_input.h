// The scheduler's view of the cluster's memory. A Step puts what it touched; FillScheduler puts
// everything, with the same result.
//
// Private to this folder. PURE.
#ifndef MASTER_CORE_CLUSTER_SCHEDULER_INPUT_H_
#define MASTER_CORE_CLUSTER_SCHEDULER_INPUT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "master/core/cluster/state.h"
#include "master/core/cluster/state_queries.h"
#include "master/core/scheduler/scheduler.h"

namespace det::cluster {

scheduler::Node MakeNode(const Cluster::State& s, const model::Agent& agent);
scheduler::Job MakeJob(const QueueMember& member);
scheduler::Gang MakeGang(const Cluster::State& s, const experiment::Allocation& a);
scheduler::Limit MakeLimit(const Cluster::State& s, const model::Quota& quota, absl::Time now);

// Puts all pools, nodes, jobs, gangs and limits (the limits as of `now`).
void FillScheduler(const Cluster::State& s, absl::Time now, scheduler::Scheduler& scheduler);
// Computes the members of the state that are derived from the others.
void DeriveState(Cluster::State& s, const Usage& usage);

// INVALID_ARGUMENT if these resources, of a trial or another task, are more than the pool has, as
// far as the known agents tell.
absl::Status CheckCapacity(const Cluster::State& s, const model::ResourcesConfig& resources,
                           const std::string& pool);
// INVALID_ARGUMENT if the workspace may not use the pool or, unless such jobs wait (Settings), if
// the resources exceed the capacity of the pool.
absl::Status CheckCanRun(const Cluster::State& s, const model::ResourcesConfig& resources,
                         const std::string& workspace, const std::string& pool);

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_SCHEDULER_INPUT_H_
