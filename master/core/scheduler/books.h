// Everything a Scheduler was told, found by name: pools, nodes, jobs, gangs, limits. Keeps what
// they say of each other consistent whatever comes first, goes, or comes again.
//
// Owned by a Scheduler. PURE.
#ifndef MASTER_CORE_SCHEDULER_BOOKS_H_
#define MASTER_CORE_SCHEDULER_BOOKS_H_

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "master/core/scheduler/pool_state.h"
#include "master/core/scheduler/snapshot.h"
#include "master/core/scheduler/state.h"

namespace det::scheduler {

class Books {
 public:
  // Each Put replaces what has the same id.
  void Put(model::ResourcePool pool);
  void RemovePool(const std::string& name);
  void Put(Node node);
  void RemoveNode(const model::AgentId& id);
  void Put(Job job);
  void RemoveJob(const model::JobId& id);
  void Put(Gang gang);
  // The same without a copy: they must outlive this.
  void PutBorrowed(const Node& node);
  void PutBorrowed(const Gang& gang);
  void RemoveGang(const model::AllocationId& id);
  void Put(Limit limit);
  void RemoveLimit(model::Quota::Scope scope, const std::string& name);
  void Reserve(size_t gangs, size_t jobs);

  // By name.
  const std::map<std::string, std::unique_ptr<PoolState>>& pools() const { return pools_; }
  PoolState* FindPool(const std::string& name) const;
  const GangState* FindGang(const model::AllocationId& id) const;
  // Whether somebody set the place of a job by hand.
  bool any_position_set() const { return positions_set_ > 0; }
  // Jobs that were given a max_slots.
  const std::map<model::JobId, JobState*>& limited() const { return limited_; }

  // INVALID_ARGUMENT when it can never run in its pool.
  absl::Status CanEverRun(const Gang& gang) const;
  void ForEachWaiting(absl::FunctionRef<void(const GangState&)> visit) const;

  Snapshot Dump(absl::Time now) const;

 private:
  // Hashes and compares.
  struct GangById {
    using is_transparent = void;
    static const std::string& IdOf(const GangState* gang) { return gang->gang->id.value(); }
    static const std::string& IdOf(const model::AllocationId& id) { return id.value(); }
    size_t operator()(const auto& gang) const { return absl::Hash<std::string>()(IdOf(gang)); }
    bool operator()(const auto& a, const auto& b) const { return IdOf(a) == IdOf(b); }
  };

  PoolState& PoolNamed(const std::string& name);
  NodeState& NodeNamed(const model::AgentId& id);
  JobState& JobNamed(const model::JobId& id);
  Owner* OwnerNamed(model::Quota::Scope scope, const std::string& name);
  GangClass& ClassOf(PoolState& pool, const Gang& gang);
  void PutNode(const Node& node, std::unique_ptr<const Node> owned);
  void PutGang(const Gang& gang, std::unique_ptr<const Gang> owned);
  void Enter(GangState& gang);
  void Leave(GangState& gang);
  void SetJob(JobState& state, Job job, bool known);
  void EvictFrom(NodeState& node, std::vector<GangState*>& gangs);
  void Readmit(const std::vector<GangState*>& gangs);
  std::vector<Hold> Resolve(const Gang& gang);

  std::map<std::string, std::unique_ptr<PoolState>> pools_;
  absl::flat_hash_map<model::AgentId, std::unique_ptr<NodeState>> nodes_;
  absl::flat_hash_map<model::JobId, std::unique_ptr<JobState>> jobs_;
  std::deque<GangState> gang_states_;
  std::vector<GangState*> spare_;  // of them, not used
  absl::flat_hash_set<GangState*, GangById, GangById> gangs_;
  std::map<std::string, std::unique_ptr<Owner>> users_;
  std::map<std::string, std::unique_ptr<Owner>> workspaces_;
  std::map<model::JobId, JobState*> limited_;
  int positions_set_ = 0;
  // Put last, if it is still there: the next is often like it.
  const GangState* last_gang_ = nullptr;
};

// Puts the queue where its first gang belongs among those of its class, if it may be served at all.
void ListQueue(JobQueue& queue);
void UnlistQueue(JobQueue& queue);
// 0 where the policy of its pool knows none.
int PriorityOf(const GangState& gang);
// The place of a waiting gang under the policy of its pool, if that has a fixed order.
OrderKey KeyOf(const GangState& gang);
// Whether the job's workspace may use the pool.
bool IsBound(const PoolState& pool, const JobState& job);
// Whether the job may ever hold as much.
bool ExceedsJob(const JobState& job, const Shape& shape);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_BOOKS_H_
