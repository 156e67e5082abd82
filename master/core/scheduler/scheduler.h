// The scheduler: from the cluster as it is to what should change.
//
// Schedule() is the whole of it as one pure function of a snapshot. Scheduler is the same for a
// cluster that lives: it is told of each change, keeps its indexes, and one pass costs what has
// changed and not what there is. After the same changes both give the same plan; equal snapshots
// give equal plans, whatever the order of their lists; a cluster at rest gives an empty plan.
//
// Owned by cluster::Cluster and touched on its loop alone. PURE.
#ifndef MASTER_CORE_SCHEDULER_SCHEDULER_H_
#define MASTER_CORE_SCHEDULER_SCHEDULER_H_

#include <memory>
#include <optional>

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

  // Each Put replaces what has the same id. A gang that has changed (got slots, is leaving, was
  // given up by one of its nodes) is put again; one that is over is removed.
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

  // What should change now. Changes nothing here: what the caller makes of it comes back by Put.
  Plan Pass(absl::Time now);

  // Why a waiting gang waits, as of the last Pass; nullopt for one that does not wait.
  std::optional<WaitReason> ReasonOf(const model::AllocationId& gang) const;
  // In the order in which the policy of the pool serves its waiting gangs: first 0. As of the last
  // Pass.
  std::vector<model::AllocationId> Queue(const std::string& resource_pool) const;

  // INVALID_ARGUMENT when the gang cannot start in its pool even if all of it were free and
  // accepted work: says why, and the largest request of its kind that could.
  absl::Status CanEverRun(const Gang& gang) const;

  // All that was put, each list by id.
  Snapshot Dump(absl::Time now) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// A new Scheduler that is told all of the snapshot, and one pass of it.
struct Scheduled {
  Plan plan;
  WaitReasons waiting;  // of each gang that waits after the plan
};
Scheduled Schedule(const Snapshot& snapshot);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_SCHEDULER_H_
