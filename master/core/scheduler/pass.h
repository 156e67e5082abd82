// One round of a pass over one pool: each waiting gang, in order, starts, preempts others, claims
// free slots, or is passed over. docs/scheduling.md, One pass.
//
// Lives for one round. Starts and preemptions remain in the state when it ends; claims do not.
// PURE.
#ifndef MASTER_CORE_SCHEDULER_PASS_H_
#define MASTER_CORE_SCHEDULER_PASS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "master/core/scheduler/claims.h"
#include "master/core/scheduler/limits.h"
#include "master/core/scheduler/pool_state.h"
#include "master/core/scheduler/registry.h"
#include "master/core/scheduler/wait_notes.h"

namespace det::scheduler {

// A preemption of this pass.
struct PreemptionRequest {
  GangState* victim = nullptr;
  const GangState* preemptor = nullptr;
  std::string reason;
};

// What a pass has changed so far.
struct Changes {
  std::vector<GangState*> started;
  std::vector<PreemptionRequest> preemptions;
  absl::Time look_again = absl::InfiniteFuture();
};

class PoolPass {
 public:
  PoolPass(const Registry& registry, PoolState& pool, Changes& changes);
  ~PoolPass();
  PoolPass(const PoolPass&) = delete;
  PoolPass& operator=(const PoolPass&) = delete;

  // Whether anything changed.
  bool Run();

 private:
  void Consider(GangState& gang);
  void EnterLevel(int level);
  void Reject(GangState& gang, const ExceededLimit& exceeded);
  bool TryStart(GangState& gang);
  bool TryBackfill(GangState& gang);
  bool AwaitTerminating(GangState& gang);
  bool TryPreempt(GangState& gang);
  void Promise(const GangState& gang, int sign);
  void ClaimOrPass(GangState& gang);
  bool AddClaim(GangState& gang);
  void Start(GangState& gang, const Fitting& fitting);
  std::optional<Fitting> FitElastic(const GangState& gang) const;
  void RecordFailure(GangState& gang);
  void RecordBehind(GangState& gang, const GangState& ahead);
  const GangState* FindBlockingClaim(const GangClass& gang_class) const;
  bool FitsWithoutClaims(const GangClass& gang_class);
  bool CannotMove(const GangClass& gang_class) const;
  bool IsBarred(const GangClass& gang_class) const;
  bool ClaimsImmediately(const GangState& gang);
  bool IsFair() const;
  void RecordFreeSlots();

  const Registry& registry_;
  PoolState& pool_;
  Changes& changes_;
  bool changed_ = false;
  bool gang_waits_ = false;  // whether a gang that was served waits for slots
  int level_ = 0;
  std::vector<ClaimState> claims_;     // in order; some are empty
  std::vector<GangState*> soft_;       // gangs that will claim when gangs of equal rank are served
  size_t unsatisfied_[2] = {0, 0};     // claims without preemptions: with slots, without
  int64_t soon_version_ = 0;           // counts what makes more slots free soon
  const GangState* strict_ = nullptr;  // without backfill: the first that waits for slots
  std::vector<bool> barred_;           // devices for which there are too many claims
  bool barred_without_slots_ = false;  // too many claims of gangs without slots
  const GangState* barred_by_[2] = {nullptr, nullptr};  // with slots, without
  std::vector<JobState*> closed_jobs_;
  std::vector<Owner*> closed_owners_;
  std::vector<GangState*> promised_;  // gangs that get the slots of terminating ones
};

// Returns the gangs to preempt for the gang, each of which is needed; empty if preemption would not
// help. `claims` are those of gangs ahead of it, which would get released slots first. In
// victims.cc.
std::vector<GangState*> FindVictims(const Registry& registry, PoolState& pool,
                                    const GangState& gang, const std::vector<ClaimState>& claims,
                                    Changes& changes);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_PASS_H_
