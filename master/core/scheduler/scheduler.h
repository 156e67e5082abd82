// The scheduler: computes assignments and preemptions from the state of the cluster.
//
// Schedule() is a pure function of a snapshot. Scheduler is the incremental form: it receives each
// change and keeps indexes, so that the cost of a pass depends on the changes and not on the size
// of the cluster. Both return the same plan for the same state; equal snapshots give equal plans,
// whatever the order of their lists; a cluster at rest gives an empty plan.
//
// Owned by cluster::Cluster and accessed only on its loop. PURE.
#ifndef MASTER_CORE_SCHEDULER_SCHEDULER_H_
#define MASTER_CORE_SCHEDULER_SCHEDULER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "master/core/scheduler/plan.h"
#include "master/core/scheduler/snapshot.h"

namespace det::scheduler {

class Scheduler {
 public:
  Scheduler();
  Scheduler(Scheduler&&) noexcept;
  Scheduler& operator=(Scheduler&&) noexcept;
  ~Scheduler();

  // Each Put replaces an object with the same id. Put a gang again when it has changed (got slots,
  // is terminating, lost a local task); remove it when it has ended.
  void Put(model::ResourcePool pool);
  void RemovePool(const std::string& name);
  void Put(Node node);
  void RemoveNode(const model::AgentId& id);
  void Put(Job job);
  void RemoveJob(const model::JobId& id);
  void Put(Gang gang);
  void RemoveGang(const model::AllocationId& id);
  void Put(Limit limit);
  void RemoveLimit(model::Quota::Scope scope, const std::string& name);

  // Returns what should change now. Does not change the state: the caller puts the applied changes.
  Plan Pass(absl::Time now);

  // Returns why a gang waits, as of the last Pass; nullopt if it does not wait.
  std::optional<WaitReason> GetWaitReason(const model::AllocationId& gang) const;
  // Returns the waiting gangs of the pool in the order of its policy, as of the last Pass.
  std::vector<model::AllocationId> Queue(const std::string& resource_pool) const;

  // INVALID_ARGUMENT if the gang could not start in its pool even if all of it were free and
  // accepted work; the message has the cause and the largest similar request that could start.
  absl::Status CheckCanRun(const Gang& gang) const;

  // Returns everything that was put, each list by id.
  Snapshot Dump(absl::Time now) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The result of one pass of a new Scheduler over the snapshot.
struct Scheduled {
  Plan plan;
  WaitReasons waiting;  // of each gang that waits after the plan
};
Scheduled Schedule(const Snapshot& snapshot);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_SCHEDULER_H_
