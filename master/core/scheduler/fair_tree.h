// The usage of a pool by workspaces, their users, and their jobs: updated incrementally, so that a
// pass visits only the branches that it needs.
//
// Owned by PoolState. PURE.
#ifndef MASTER_CORE_SCHEDULER_FAIR_TREE_H_
#define MASTER_CORE_SCHEDULER_FAIR_TREE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/time/time.h"
#include "master/core/scheduler/state.h"
#include "master/core/scheduler/victim_order.h"

namespace det::scheduler {

struct Usage {
  Micro slots = 0;
  int64_t cpus = 0;
  int64_t memory = 0;
  friend bool operator==(const Usage&, const Usage&) = default;
};
inline Usage operator+(const Usage& a, const Usage& b) {
  return {a.slots + b.slots, a.cpus + b.cpus, a.memory + b.memory};
}
inline Usage operator-(const Usage& a, const Usage& b) {
  return {a.slots - b.slots, a.cpus - b.cpus, a.memory - b.memory};
}

// Returns the largest of the shares of slots, cpus and memory.
double DominantShare(const Usage& usage, const Usage& total);
// Returns the usage of a gang with this number of slots.
Usage ComputeUsage(const GangState& gang, int slots);

// A gang is not preempted earlier after its start, because shares change with every start.
inline constexpr absl::Duration kMinRunBeforePreemption = absl::Minutes(10);

// The running gangs of a branch that may be preempted and have the same usage.
struct Victims {
  Usage each;
  int unsettled = 0;
  absl::btree_set<GangState*, VictimOrder> settled;
};

struct Branch {
  Usage usage;  // of running gangs
  // The usage after terminating gangs have exited and the gangs that wait for their slots have
  // started.
  Usage expected;
  double weight = 1;             // of a job; at least a millionth
  double share = 0;              // the weighted dominant share of `usage`, as of the last round
  int stale_at = -1;             // index in FairTree::stale_; -1: the share is up to date
  std::vector<Victims> victims;  // if the pool preempts by share
};

class FairTree;
struct UserBranch;
struct WorkspaceBranch;

struct JobBranch : Branch {
  JobState* job = nullptr;
  UserBranch* user = nullptr;
  FairTree* tree = nullptr;
  size_t at = 0;    // in UserBranch::jobs
  int members = 0;  // gangs that run or wait
};

// Orders by name; nullptr (no owner) comes first.
struct OwnerByName {
  bool operator()(const Owner* a, const Owner* b) const;
};

struct UserBranch : Branch {
  const Owner* owner = nullptr;  // nullptr: jobs without a user
  WorkspaceBranch* workspace = nullptr;
  std::vector<std::unique_ptr<JobBranch>> jobs;
};

struct WorkspaceBranch : Branch {
  const Owner* owner = nullptr;
  absl::btree_map<const Owner*, std::unique_ptr<UserBranch>, OwnerByName> users;
};

class FairTree {
 public:
  using Workspaces = absl::btree_map<const Owner*, std::unique_ptr<WorkspaceBranch>, OwnerByName>;
  struct EarliestStart {
    bool operator()(const GangState* a, const GangState* b) const;
  };

  FairTree() = default;
  FairTree(const FairTree&) = delete;
  FairTree& operator=(const FairTree&) = delete;

  // Adds or removes a gang of the job.
  JobBranch& Enter(JobState& job);
  void Leave(JobBranch& branch);
  // Updates the user, workspace and weight of the job. REQUIRES that none of its victims is listed.
  void Move(JobBranch& branch);

  // Adds (+1) or subtracts (-1) the usage of a running gang.
  void UpdateUsage(const GangState& gang, int sign);
  // Adds or subtracts expected usage.
  void UpdateExpected(JobBranch& branch, const Usage& usage, int sign);

  void AddVictim(GangState& gang);
  void RemoveVictim(GangState& gang);
  // Makes gangs that started long enough ago available as victims.
  void Settle(absl::Time now);
  // The gangs that started too recently to be preempted.
  const absl::btree_set<GangState*, EarliestStart>& settling() const { return settling_; }

  // Updates every share.
  void UpdateShares(const Usage& total);
  const Usage& total() const { return total_; }
  const Workspaces& workspaces() const { return workspaces_; }

 private:
  UserBranch& GetUserBranch(const JobState& job);
  void Attach(std::unique_ptr<JobBranch> branch);
  std::unique_ptr<JobBranch> Detach(JobBranch& branch);
  void MarkStale(Branch& branch);
  void Forget(Branch& branch);
  void UpdateVictims(GangState& gang, int sign);

  Workspaces workspaces_;
  std::vector<Branch*> stale_;
  Usage total_;
  absl::Time now_ = absl::InfinitePast();
  absl::btree_set<GangState*, EarliestStart> settling_;
};

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_FAIR_TREE_H_
