// The queue of a pool as it is shown: jobs in the order in which they are served.
//
// Gathered on the engine's loop, inside a Query; the rest on any thread. Does no I/O.
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
  model::TrialId trial;
  std::optional<scheduler::WaitReason> reason;  // absent: the scheduler has not looked at it yet
};

// A live experiment with trials that hold or want slots.
struct QueuedJob {
  v1::Job job;
  std::vector<WaitingGang> waiting;  // in the order in which they are served
};

// Of one pool.
std::vector<QueuedJob> QueueOf(const cluster::Cluster& cluster, const std::string& pool);
// One job of it; nullopt: it holds nothing and waits for nothing.
std::optional<QueuedJob> QueuedJobOf(const cluster::Cluster& cluster,
                                     const experiment::Experiment& job);

// Where an experiment stands in the queue of its pool; nullopt: it holds nothing and waits for
// nothing.
std::optional<v1::JobSummary> PlaceOf(const cluster::Cluster& cluster, model::ExperimentId id);

// The experiment that a job's id, or the number of an experiment, names; null: none that lives.
const experiment::Experiment* FindJob(const cluster::Cluster& cluster, const std::string& text);

// What a request asks for. INVALID_ARGUMENT for one that changes nothing; NOT_FOUND for a job that
// is not in the queue.
absl::StatusOr<cluster::UpdateQueue> ToUpdates(const cluster::Cluster& cluster,
                                               const v1::UpdateJobQueueRequest& request);

}  // namespace det::api

#endif  // MASTER_API_QUEUE_QUEUE_VIEW_H_
