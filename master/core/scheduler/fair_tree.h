// What the workspaces of a pool hold of it, their users, and their jobs: kept while gangs come,
// start, leave and end, so that a pass looks at those branches alone that matter to it.
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
#include "master/core/scheduler/least_useful.h"
#include "master/core/scheduler/state.h"

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

// The largest of its shares of slots, cpus and memory.
double DominantShare(const Usage& usage, const Usage& total);
// What a gang uses, or will, with so many slots.
Usage UsageOf(const GangState& gang, int slots);

// Nobody who started less than that ago is asked to go again: shares change with every start.
inline constexpr absl::Duration kSettled = absl::Minutes(10);

// Running gangs of a branch that may be asked to go and use as much each.
struct Victims {
  Usage each;
  int unsettled = 0;
  absl::btree_set<GangState*, LeastUseful> settled;
};

struct Branch {
  Usage usage;  // of what runs
  // Of what will: once those that are leaving have left, and those that they leave for have
  // started.
  Usage expected;
  double weight = 1;             // of a job; at least a millionth
  double share = 0;              // the dominant one of `usage`, by weight; as of the last round
  int stale_at = -1;             // in FairTree::stale_; -1: its share is true
  std::vector<Victims> victims;  // where the pool asks by share
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

// nullptr, nobody, goes first.
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

  // A gang of the job comes to the pool, or goes.
  JobBranch& Enter(JobState& job);
  void Leave(JobBranch& branch);
  // The job has another user, workspace or weight. REQUIRES that none of its victims is listed.
  void Move(JobBranch& branch);

  // It runs, or runs no more: +1 or -1.
  void Use(const GangState& gang, int sign);
  // It will run, or will not.
  void Expect(JobBranch& branch, const Usage& usage, int sign);

  void ListVictim(GangState& gang);
  void UnlistVictim(GangState& gang);
  // Those who started long enough before can be asked from now on.
  void Settle(absl::Time now);
  // Who cannot be asked yet.
  const absl::btree_set<GangState*, EarliestStart>& settling() const { return settling_; }

  // Makes every share true.
  void UpdateShares(const Usage& total);
  const Usage& total() const { return total_; }
  const Workspaces& workspaces() const { return workspaces_; }

 private:
  UserBranch& UserOf(const JobState& job);
  void Attach(std::unique_ptr<JobBranch> branch);
  std::unique_ptr<JobBranch> Detach(JobBranch& branch);
  void MarkStale(Branch& branch);
  void Forget(Branch& branch);
  void List(GangState& gang, int sign);

  Workspaces workspaces_;
  std::vector<Branch*> stale_;
  Usage total_;
  absl::Time now_ = absl::InfinitePast();
  absl::btree_set<GangState*, EarliestStart> settling_;
};

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_FAIR_TREE_H_
