// What the scheduler is told of the cluster's memory. A Step tells it of what it touched; Mirror
// tells it of everything, which comes to the same.
//
// Included by this folder's sources alone. PURE.
#ifndef MASTER_CORE_CLUSTER_MIRROR_H_
#define MASTER_CORE_CLUSTER_MIRROR_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "master/core/cluster/state.h"
#include "master/core/scheduler/scheduler.h"

namespace det::cluster {

scheduler::Node MakeNode(const Cluster::State& s, const model::Agent& agent);
scheduler::Job MakeJob(const experiment::Experiment& e);
scheduler::Gang MakeGang(const Cluster::State& s, const experiment::Allocation& a);
scheduler::Limit MakeLimit(const Cluster::State& s, const model::Quota& quota, absl::Time now);

// Tells it of all pools, nodes, jobs, gangs and limits (these as of `now`).
void Mirror(const Cluster::State& s, absl::Time now, scheduler::Scheduler& scheduler);
// Makes everything of the state that follows from the rest of it.
void Derive(Cluster::State& s, const Usage& usage);

// ---- what several parts of this folder ask ----

// Defined in the configuration file or at run time; null: neither, it has the defaults.
const model::ResourcePool* FindPool(const Cluster::State& s, const std::string& name);
const std::string& DefaultComputePool(const Cluster::State& s);
const std::string& DefaultAuxPool(const Cluster::State& s);
// All that hold: those of the configuration file, where no request has set another. By key.
std::vector<model::Quota> Quotas(const Cluster::State& s);
bool HasAgents(const Cluster::State& s, const std::string& pool);
// INVALID_ARGUMENT when a trial of this configuration can never run in the pool, as far as the
// agents that are known tell.
absl::Status CanEverRun(const Cluster::State& s, const model::ExperimentConfig& config,
                        const std::string& pool);
// What the run may still take; infinite without max_run_time.
absl::Duration TimeLeft(const model::ExperimentConfig& config, const experiment::Trial& trial);
// When the run must have ended by its max_run_time; infinite without, or while it is queued.
absl::Time EndOfTime(const Cluster::State& s, const experiment::Allocation& a);
// How long before that it is asked to save and leave: the end is one, for whom it makes room too.
// Its preemption_timeout and the grace of a stop, but at most an eighth of max_run_time.
absl::Duration TimeToLeave(const Cluster::State& s, const model::ExperimentConfig& config);
// What the trial may still work, before it has to leave; infinite without max_run_time.
absl::Duration WorkLeft(const Cluster::State& s, const experiment::Trial& trial);

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_MIRROR_H_
