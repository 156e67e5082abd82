// One round of a pass over one pool: the waiting gangs in order, each of which starts, asks others
// away, claims what it can, or is passed by. docs/scheduling.md, One pass.
//
// Lives for one round; what it starts and asks away is in the state when it ends, and its claims
// are not. PURE.
#ifndef MASTER_CORE_SCHEDULER_PASS_H_
#define MASTER_CORE_SCHEDULER_PASS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "master/core/scheduler/books.h"
#include "master/core/scheduler/claims.h"
#include "master/core/scheduler/limits.h"
#include "master/core/scheduler/notes.h"
#include "master/core/scheduler/pool_state.h"

namespace det::scheduler {

// Asked to go in this pass.
struct Asked {
  GangState* victim = nullptr;
  const GangState* in_favour_of = nullptr;
  std::string reason;
};

// What a pass has changed so far.
struct Changes {
  std::vector<GangState*> started;
  std::vector<Asked> asked;
  absl::Time look_again = absl::InfiniteFuture();
};

class PoolPass {
 public:
  PoolPass(const Books& books, PoolState& pool, Changes& changes);
  ~PoolPass();
  PoolPass(const PoolPass&) = delete;
  PoolPass& operator=(const PoolPass&) = delete;

  // Whether anything changed.
  bool Run();

 private:
  void Consider(GangState& gang);
  void EnterLevel(int level);
  void Refuse(GangState& gang, const Refusal& refusal);
  bool TryStart(GangState& gang);
  bool TryBackfill(GangState& gang);
  bool AwaitLeaving(GangState& gang);
  bool AskAway(GangState& gang);
  void Promise(const GangState& gang, int sign);
  void ClaimOrPass(GangState& gang);
  bool AddClaim(GangState& gang);
  void Start(GangState& gang, const Fitting& fitting);
  std::optional<Fitting> FitElastic(const GangState& gang) const;
  void NoteFailure(GangState& gang);
  void NoteBehind(GangState& gang, const GangState& ahead);
  const GangState* WhoseClaimIsInTheWay(const GangClass& gang_class) const;
  bool FitsWithoutClaims(const GangClass& gang_class);
  bool CannotMove(const GangClass& gang_class) const;
  bool IsBarred(const GangClass& gang_class) const;
  bool HoldsAtOnce(const GangState& gang);
  bool IsFair() const;
  void NoteWhatIsFree();

  const Books& books_;
  PoolState& pool_;
  Changes& changes_;
  bool changed_ = false;
  bool somebody_waits_ = false;  // for slots, of those that have been served
  int level_ = 0;
  std::vector<ClaimState> claims_;     // in order; some of nothing yet
  std::vector<GangState*> soft_;       // will claim when their equals are served
  size_t unsatisfied_[2] = {0, 0};     // claims that nobody leaves for: with slots, without
  int64_t soon_version_ = 0;           // counts what makes more slots free soon
  const GangState* strict_ = nullptr;  // without backfill: the first that waits for slots
  std::vector<bool> barred_;           // devices for which there are too many claims
  bool barred_without_slots_ = false;  // too many claims of gangs without slots
  const GangState* barred_by_[2] = {nullptr, nullptr};  // with slots, without
  std::vector<JobState*> closed_jobs_;
  std::vector<Owner*> closed_owners_;
  std::vector<GangState*> promised_;  // what others are leaving
};

// Who is worth asking away for the gang, none of whom can be spared; empty: it would not help.
// `claims` are of those ahead of it, to whom would go what they lack. In victims.cc.
std::vector<GangState*> FindVictims(const Books& books, PoolState& pool, const GangState& gang,
                                    const std::vector<ClaimState>& claims, Changes& changes);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_PASS_H_
