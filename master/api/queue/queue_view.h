// The queue of a resource pool: jobs in the order in which the scheduler serves them.
//
// Functions with a Cluster run on the engine's loop, inside a Query. Does no I/O.
#ifndef MASTER_API_QUEUE_QUEUE_VIEW_H_
#define MASTER_API_QUEUE_QUEUE_VIEW_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "det/api/v1/job.pb.h"
#include "master/core/cluster/cluster.h"
#include "master/core/model/ids.h"
#include "master/core/scheduler/plan.h"

namespace det::api {

struct WaitingGang {
  model::AllocationId allocation;
  model::TrialId trial;  // 0: not of a trial
  std::optional<scheduler::WaitReason> reason;  // absent until the next scheduling pass
};

// A live experiment, or a live task that is not a trial; both null: none.
struct LiveJob {
  const experiment::Experiment* experiment = nullptr;
  const experiment::Task* task = nullptr;
};

// A live job that holds slots or waits for them.
struct QueuedJob {
  v1::Job job;
  std::vector<WaitingGang> waiting;  // in the order in which they are served
};

// Returns the queue of one pool.
std::vector<QueuedJob> GetQueue(const cluster::Cluster& cluster, const std::string& pool);
// Returns one job of the queue; nullopt if it neither holds slots nor waits for them.
// REQUIRES one of the members of `job`.
std::optional<QueuedJob> FindQueuedJob(const cluster::Cluster& cluster, const LiveJob& job);

// Returns the state of an experiment's job and the number of jobs ahead of it in the queue of its
// pool; nullopt if it neither holds slots nor waits for them.
std::optional<v1::JobSummary> GetJobSummary(const cluster::Cluster& cluster,
                                            model::ExperimentId id);

// Returns the live job with this id: of the job, of the experiment or of the task.
LiveJob FindJob(const cluster::Cluster& cluster, const std::string& text);

// Converts a request to an event. Returns INVALID_ARGUMENT if an update changes nothing, NOT_FOUND
// if a job is not in the queue.
absl::StatusOr<cluster::UpdateQueue> ToUpdateQueue(const cluster::Cluster& cluster,
                                                   const v1::UpdateJobQueueRequest& request);

}  // namespace det::api

#endif  // MASTER_API_QUEUE_QUEUE_VIEW_H_
