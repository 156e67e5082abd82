// The preemption victims of a waiting gang under fair share. At the level where their paths in the
// tree diverge (workspace, user or job), the waiting gang's side must hold no more with the gang
// than the other side without the victim.
//
// Lives while victims for one gang are chosen. PURE.
#ifndef MASTER_CORE_SCHEDULER_FAIR_SHARE_H_
#define MASTER_CORE_SCHEDULER_FAIR_SHARE_H_

#include <vector>

#include "absl/container/btree_set.h"
#include "absl/time/time.h"
#include "master/core/scheduler/fair_tree.h"
#include "master/core/scheduler/pool_state.h"
#include "master/core/scheduler/state.h"
#include "master/core/scheduler/victim_order.h"

namespace det::scheduler {

class FairVictims {
 public:
  FairVictims(PoolState& pool, const GangState& gang);
  ~FairVictims();
  FairVictims(const FairVictims&) = delete;
  FairVictims& operator=(const FairVictims&) = delete;

  // Returns the least useful victim, considering those taken before; nullptr if none is left.
  GangState* Next();
  // Takes the victim that Next returned. Counts until the destructor.
  void Take(GangState& victim);

  // When the first candidate that started too recently can be preempted.
  absl::Time first_settled() const { return first_settled_; }

 private:
  using Settled = absl::btree_set<GangState*, VictimOrder>;
  struct Source {
    Settled::const_iterator at, end;
  };
  static bool Later(const Source& a, const Source& b);

  void FindSources();
  // `mine` is the weighted share of the waiting gang's side.
  void AddSources(const Branch& other, double mine);
  double Mine(const Branch& own) const;
  bool IsFairer(const GangState& other) const;
  void RecordUnsettled();

  PoolState& pool_;
  const GangState& gang_;
  Usage more_;
  std::vector<Source> sources_;  // a heap
  int unsettled_ = 0;            // in the branches that it may preempt
  absl::Time first_settled_ = absl::InfiniteFuture();
  std::vector<GangState*> taken_;
};

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_FAIR_SHARE_H_
