// The pools, nodes, jobs, gangs and limits of a Scheduler by name. Keeps their references to each
// other consistent, whatever the order in which they are put and removed.
//
// Owned by a Scheduler. PURE.
#ifndef MASTER_CORE_SCHEDULER_REGISTRY_H_
#define MASTER_CORE_SCHEDULER_REGISTRY_H_

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
#include "absl/time/time.h"
#include "master/core/scheduler/pool_state.h"
#include "master/core/scheduler/snapshot.h"
#include "master/core/scheduler/state.h"

namespace det::scheduler {

class Registry {
 public:
  // Each Put replaces an object with the same id.
  void Put(model::ResourcePool pool);
  void RemovePool(const std::string& name);
  void Put(Node node);
  void RemoveNode(const model::AgentId& id);
  void Put(Job job);
  void RemoveJob(const model::JobId& id);
  void Put(Gang gang);
  // The same without a copy; the arguments must outlive this.
  void PutBorrowed(const Node& node);
  void PutBorrowed(const Gang& gang);
  void RemoveGang(const model::AllocationId& id);
  void Put(Limit limit);
  void RemoveLimit(model::Quota::Scope scope, const std::string& name);
  void Reserve(size_t gangs, size_t jobs);

  // Sorted by name.
  const std::map<std::string, std::unique_ptr<PoolState>>& pools() const { return pools_; }
  PoolState* FindPool(const std::string& name) const;
  const GangState* FindGang(const model::AllocationId& id) const;
  // Whether a user set the position of a job.
  bool any_position_set() const { return positions_set_ > 0; }
  // The jobs with a max_slots.
  const std::map<model::JobId, JobState*>& limited() const { return limited_; }

  // INVALID_ARGUMENT if the gang can never run in its pool.
  absl::Status CheckCanRun(const Gang& gang) const;
  void ForEachWaiting(absl::FunctionRef<void(const GangState&)> visit) const;

  Snapshot Dump(absl::Time now) const;

 private:
  // Hashes and compares gangs by id.
  struct GangById {
    using is_transparent = void;
    static const std::string& GetId(const GangState* gang) { return gang->gang->id.value(); }
    static const std::string& GetId(const model::AllocationId& id) { return id.value(); }
    size_t operator()(const auto& gang) const { return absl::Hash<std::string>()(GetId(gang)); }
    bool operator()(const auto& a, const auto& b) const { return GetId(a) == GetId(b); }
  };

  PoolState& PoolNamed(const std::string& name);
  NodeState& NodeNamed(const model::AgentId& id);
  JobState& JobNamed(const model::JobId& id);
  Owner* OwnerNamed(model::Quota::Scope scope, const std::string& name);
  GangClass& GetClass(PoolState& pool, const Gang& gang);
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
  std::vector<GangState*> spare_;  // unused elements of gang_states_
  absl::flat_hash_set<GangState*, GangById, GangById> gangs_;
  std::map<std::string, std::unique_ptr<Owner>> users_;
  std::map<std::string, std::unique_ptr<Owner>> workspaces_;
  std::map<model::JobId, JobState*> limited_;
  int positions_set_ = 0;
  // The last gang that was put, if it still exists: the next one is often similar.
  const GangState* last_gang_ = nullptr;
};

// Inserts the queue into its class at the place of its first gang, if it may be served.
void ListQueue(JobQueue& queue);
void UnlistQueue(JobQueue& queue);
// Returns the priority of the gang; 0 if the policy of its pool has none.
int GetPriority(const GangState& gang);
// Returns the key of a waiting gang in the fixed order of its pool's policy, if it has one.
OrderKey MakeOrderKey(const GangState& gang);
// Whether the job's workspace may use the pool.
bool IsBound(const PoolState& pool, const JobState& job);
// Whether the request exceeds what the job may ever hold.
bool ExceedsJob(const JobState& job, const Shape& shape);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_REGISTRY_H_
