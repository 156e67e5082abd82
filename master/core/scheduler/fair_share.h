// Whom a waiting gang may ask to go under fair share: where the paths of the two part, workspace,
// user or job, its side must hold no more with it than the other side without the victim.
//
// Lives while one gang looks for victims. PURE.
#ifndef MASTER_CORE_SCHEDULER_FAIR_SHARE_H_
#define MASTER_CORE_SCHEDULER_FAIR_SHARE_H_

#include <vector>

#include "absl/container/btree_set.h"
#include "absl/time/time.h"
#include "master/core/scheduler/fair_tree.h"
#include "master/core/scheduler/least_useful.h"
#include "master/core/scheduler/pool_state.h"
#include "master/core/scheduler/state.h"

namespace det::scheduler {

class FairVictims {
 public:
  FairVictims(PoolState& pool, const GangState& gang);
  ~FairVictims();
  FairVictims(const FairVictims&) = delete;
  FairVictims& operator=(const FairVictims&) = delete;

  // Least useful first, as of what was taken before; nullptr: nobody is left.
  GangState* Next();
  // The one that Next gave is to go. Counts until the end of this.
  void Take(GangState& victim);

  // When the first can be asked of those that it might ask, had they not just started.
  absl::Time first_settled() const { return first_settled_; }

 private:
  using Settled = absl::btree_set<GangState*, LeastUseful>;
  struct Source {
    Settled::const_iterator at, end;
  };
  static bool Later(const Source& a, const Source& b);

  void FindSources();
  // `mine`: what the asking side would hold, by its weight.
  void AddSources(const Branch& other, double mine);
  double Mine(const Branch& own) const;
  bool IsFairer(const GangState& other) const;
  void NoteUnsettled();

  PoolState& pool_;
  const GangState& gang_;
  Usage more_;
  std::vector<Source> sources_;  // a heap
  int unsettled_ = 0;            // in the branches that it may ask
  absl::Time first_settled_ = absl::InfiniteFuture();
  std::vector<GangState*> taken_;
};

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_FAIR_SHARE_H_
