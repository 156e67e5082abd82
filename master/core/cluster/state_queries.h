// Queries of the cluster's memory that several sources of this folder need: pools, quotas, and how
// long a run may take.
//
// Private to this folder. PURE.
#ifndef MASTER_CORE_CLUSTER_STATE_QUERIES_H_
#define MASTER_CORE_CLUSTER_STATE_QUERIES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "master/core/cluster/state.h"

namespace det::cluster {

// Returns a pool that the configuration file or a request defined; null if it has only the
// defaults.
const model::ResourcePool* FindPool(const Cluster::State& s, const std::string& name);
const std::string& DefaultComputePool(const Cluster::State& s);
const std::string& DefaultAuxPool(const Cluster::State& s);
// Returns all quotas by scope and name; a quota that was set at run time replaces the one of the
// configuration file.
std::vector<model::Quota> Quotas(const Cluster::State& s);
bool HasAgents(const Cluster::State& s, const std::string& pool);

// A job: an experiment, or a task that is not a trial. Pointers are into the memory.
struct QueueMember {
  model::JobId job;
  const experiment::QueuePlace* place = nullptr;
  const model::ResourcesConfig* resources = nullptr;
  std::string user;       // for quotas
  std::string workspace;  // its name
  const experiment::Experiment* experiment = nullptr;  // null: a task
  const experiment::Task* task = nullptr;              // null: an experiment
};
std::optional<QueueMember> FindMember(const Cluster::State& s, const model::JobId& job);
QueueMember GetMember(const experiment::Experiment& e);
QueueMember GetMember(const experiment::Task& task);
// Returns the job to which the allocation belongs.
QueueMember GetMember(const Cluster::State& s, const experiment::Allocation& a);

// Returns how long the trial may still run; infinite without max_run_time.
absl::Duration GetRemainingRunTime(const model::ExperimentConfig& config,
                                   const experiment::Trial& trial);
// Returns when the run must have ended because of its max_run_time; infinite without it, or while
// the run is queued.
absl::Time GetRunTimeEnd(const Cluster::State& s, const experiment::Allocation& a);
// Returns how long before the end of its max_run_time a trial is asked to checkpoint and exit, so
// that it has exited by then: its preemption_timeout plus the grace period of a stop, at most an
// eighth of max_run_time.
absl::Duration GetReleaseLeadTime(const Cluster::State& s, const model::ExperimentConfig& config);
// Returns how long the trial may still train before it must exit; infinite without max_run_time.
absl::Duration GetRemainingWorkTime(const Cluster::State& s, const experiment::Trial& trial);
// Returns how long the task, which is not a trial, may still run; infinite without max_run_time.
absl::Duration GetRemainingRunTime(const experiment::Task& task);

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_STATE_QUERIES_H_
