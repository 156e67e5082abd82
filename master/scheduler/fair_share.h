// What is fair: shares of what a pool has, by workspace, by its users, by their jobs.
//
// PURE.
#ifndef MASTER_SCHEDULER_FAIR_SHARE_H_
#define MASTER_SCHEDULER_FAIR_SHARE_H_

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "master/scheduler/pool_state.h"
#include "master/scheduler/state.h"

namespace det::scheduler {

// The largest of its shares of slots, cpus and memory.
double DominantShare(const Usage& usage, const Usage& total);
double WeightOf(const JobState& job);
// What a gang uses, or will, with so many slots.
Usage UsageOf(const GangState& gang, int slots);

// Who holds what on each level, once those that are leaving have left and those that they leave for
// have started.
class Shares {
 public:
  explicit Shares(const PoolState& pool);

  // Whether `gang`, had it started, would hold no more than `other` then leaves behind: compared
  // where their paths part, workspace to workspace, user to user, or job to job.
  bool IsFairer(const GangState& gang, const GangState& other) const;
  // False only if it is so for nobody: to spare a search.
  bool IsFairerThanSome(const GangState& gang) const;

  void Take(const GangState& running) { Count(running, running.slots(), -1); }
  void GiveBack(const GangState& running) { Count(running, running.slots(), +1); }
  // A waiting gang will start.
  void Promise(const GangState& gang);

 private:
  using UserOf = std::pair<const Owner*, const Owner*>;  // workspace, user
  void Count(const GangState& gang, int slots, int sign);
  void Add(const JobState& job, const Usage& usage, int sign);

  Usage total_;
  absl::flat_hash_map<const Owner*, Usage> workspaces_;
  absl::flat_hash_map<UserOf, Usage> users_;
  absl::flat_hash_map<const JobState*, Usage> jobs_;
  // The largest share on each level, or more: below the pool, a workspace, a user.
  void Raise(const JobState& job);
  double most_of_workspaces_ = 0;
  absl::flat_hash_map<const Owner*, double> most_of_users_;
  absl::flat_hash_map<UserOf, double> most_of_jobs_;
};

}  // namespace det::scheduler

#endif  // MASTER_SCHEDULER_FAIR_SHARE_H_
