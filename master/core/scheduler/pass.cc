#include "master/core/scheduler/pass.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "master/core/scheduler/fit.h"
#include "master/core/scheduler/holdings.h"
#include "master/core/scheduler/reason_text.h"

namespace det::scheduler {
namespace {

constexpr size_t kMaxClaims = 64;

std::string Described(const GangState& gang) {
  const bool by_priority = gang.pool->config.policy == model::SchedulingPolicy::kPriority;
  return absl::StrCat(gang.gang->id.value(),
                      by_priority ? absl::StrCat(" of priority ", gang.job->job.priority) : "",
                      ", which ", Needs(gang.gang_class->shape));
}

void ResetClass(GangClass& c) {
  c.failed = c.nothing_to_claim = c.unclaimed = c.no_victims = false;
  c.soon_failed = -1;
  c.note.reset();
  c.done = false;
}

}  // namespace

PoolPass::PoolPass(const Registry& registry, PoolState& pool, Changes& changes)
    : registry_(registry), pool_(pool), changes_(changes), barred_(pool.devices.size()) {
  for (const auto& [shape, gang_class] : pool_.classes) {
    ResetClass(*gang_class);
    pool_.Compile(*gang_class);
    gang_class->done = !gang_class->feasible || CannotMove(*gang_class);
  }
  *pool_.notes = Notes();
  pool_.notes->order = MakeOrder(pool_);
}

// Whether nothing is free or becoming free, so that no gang of the class can start, preempt or
// claim. Avoids a walk through the tree.
bool PoolPass::CannotMove(const GangClass& c) const {
  return IsFair() && c.shape.slots > 0 && c.view(kNow).total_free() == 0 &&
         pool_.terminating == 0 && pool_.index[kNow].shared.empty() && !pool_.config.preemption;
}

PoolPass::~PoolPass() {
  for (const ClaimState& claim : claims_) Release(claim);
  for (GangState* gang : promised_) Promise(*gang, -1);
  for (JobState* job : closed_jobs_) job->closed = false;
  for (Owner* owner : closed_owners_) owner->closed = false;
}

bool PoolPass::Run() {
  Order& order = *pool_.notes->order;
  bool first = true;
  while (GangState* gang = order.Next()) {
    const int level = GetPriority(*gang);
    if (first || level != level_) EnterLevel(level);
    first = false;
    if (const auto exceeded = FindExceededLimit(*gang)) {
      Reject(*gang, *exceeded);
      if (exceeded->permanent) order.Advance();
      continue;
    }
    Consider(*gang);
    if (!gang->gang_class->done) order.Advance();
  }
  RecordFreeSlots();
  return changed_;
}

// Gangs of lower priority follow: the waiting gangs of higher priority claim what they can use.
void PoolPass::EnterLevel(int level) {
  level_ = level;
  for (GangState* gang : soft_) {
    if (!AddClaim(*gang)) --unsatisfied_[gang->gang_class->shape.slots == 0];
  }
  soft_.clear();
  for (const auto& [shape, gang_class] : pool_.classes) {
    GangClass& c = *gang_class;
    if (!c.unclaimed || c.nothing_to_claim) continue;
    if (c.shape.slots == 0) {
      barred_without_slots_ = true;
      continue;
    }
    for (size_t device = 0; device < barred_.size(); ++device) {
      if (c.Matches(static_cast<int>(device))) barred_[device] = true;
    }
  }
}

void PoolPass::Reject(GangState& gang, const ExceededLimit& exceeded) {
  if (exceeded.permanent) return;
  Closed closed{.at = pool_.notes->order->GetPlace(gang), .kind = exceeded.kind};
  if (exceeded.job != nullptr) {
    gang.job->closed = true;
    closed_jobs_.push_back(gang.job);
    closed.held = exceeded.job->held;
    closed.gangs = exceeded.job->gangs;
    pool_.notes->closed.emplace(gang.job, std::move(closed));
    return;
  }
  Owner* owner = exceeded.owner == gang.job->user ? gang.job->user : gang.job->workspace;
  owner->closed = true;
  closed_owners_.push_back(owner);
  closed.held = owner->held;
  pool_.notes->closed.emplace(owner, std::move(closed));
}

void PoolPass::Consider(GangState& gang) {
  GangClass& c = *gang.gang_class;
  if ((c.shape.slots > 0 && strict_ != nullptr) || IsBarred(c)) {
    if (!c.failed) RecordFailure(gang);
    c.failed = c.done = true;
    return;
  }
  if (TryStart(gang) || TryBackfill(gang)) return;
  if (c.shape.slots > 0) gang_waits_ = true;
  if (!c.runnable) {
    c.done = true;
    return;
  }
  if (AwaitTerminating(gang) || TryPreempt(gang)) {
    if (!pool_.config.backfill && strict_ == nullptr && c.shape.slots > 0) strict_ = &gang;
    return;
  }
  ClaimOrPass(gang);
}

bool PoolPass::TryStart(GangState& gang) {
  GangClass& c = *gang.gang_class;
  if (c.failed) return false;
  const auto fitting = FitElastic(gang);
  if (!fitting) {
    c.failed = true;
    RecordFailure(gang);
    return false;
  }
  Start(gang, *fitting);
  return true;
}

void PoolPass::Start(GangState& gang, const Fitting& fitting) {
  gang.fresh = true;
  gang.backfilled = gang_waits_ && gang.gang_class->shape.slots > 0;
  ++gang.job->fresh;
  gang.started_at = pool_.now;
  gang.saved_at = pool_.now;
  Occupy(gang, MakeHolds(*gang.gang_class, fitting, kNow));
  changes_.started.push_back(&gang);
  changed_ = true;
}

// Fits an elastic gang with as many slots as possible.
std::optional<Fitting> PoolPass::FitElastic(const GangState& gang) const {
  const GangClass& c = *gang.gang_class;
  auto fitting = Fit(pool_, c, c.shape.slots, kNow);
  if (!fitting || c.shape.max_slots == c.shape.slots) return fitting;
  int fits = c.shape.slots;
  int too_many = SlotsWithinLimits(gang) + 1;
  while (too_many - fits > 1) {
    const int tried = fits + (too_many - fits) / 2;
    if (auto more = Fit(pool_, c, tried, kNow)) {
      fitting = std::move(more);
      fits = tried;
    } else {
      too_many = tried;
    }
  }
  return fitting;
}

// Starts the gang on claimed slots if it ends before the claimants can start.
bool PoolPass::TryBackfill(GangState& gang) {
  const GangClass& c = *gang.gang_class;
  if (c.shape.max_run_time == absl::InfiniteDuration() || c.shape.slots == 0) return false;
  if (!pool_.config.backfill || claims_.empty()) return false;
  const absl::Time end = pool_.now + c.shape.max_run_time;
  std::vector<ClaimState*> lent;
  for (ClaimState& claim : claims_) {
    if (claim.whole_at < end || claim.holds.empty()) continue;
    Release(claim);
    lent.push_back(&claim);
  }
  if (lent.empty()) return false;
  const auto fitting = Fit(pool_, c, c.shape.slots, kNow);
  if (fitting) Start(gang, *fitting);
  for (ClaimState* claim : lent) {
    for (Hold& hold : claim->holds) {
      const auto taken = [&](int slot) {
        return hold.node->slots[static_cast<size_t>(slot)].used > 0;
      };
      const auto left = std::remove_if(hold.slots.begin(), hold.slots.end(), taken);
      hold.slots.erase(left, hold.slots.end());
    }
    Apply(*claim);
  }
  return fitting.has_value();
}

// Waits if the slots of terminating gangs suffice.
bool PoolPass::AwaitTerminating(GangState& gang) {
  GangClass& c = *gang.gang_class;
  if (pool_.terminating == 0 || c.soon_failed == soon_version_) return false;
  const auto fitting = Fit(pool_, c, c.shape.slots, kSoon);
  if (!fitting) {
    c.soon_failed = soon_version_;
    return false;
  }
  ClaimState claim{.gang = &gang, .holds = MakeHolds(c, *fitting, kSoon)};
  auto& awaited = pool_.notes->awaiting[gang.gang->id];
  for (const Hold& hold : claim.holds) {
    for (const GangState* other : hold.node->gangs) {
      if (other->terminating) awaited.push_back(other->gang->id);
    }
  }
  std::sort(awaited.begin(), awaited.end());
  awaited.erase(std::unique(awaited.begin(), awaited.end()), awaited.end());
  Apply(claim);
  claims_.push_back(std::move(claim));
  promised_.push_back(&gang);
  Promise(gang, +1);
  return true;
}

// The slots of terminating gangs that it waits for count as its own when shares are compared.
void PoolPass::Promise(const GangState& gang, int sign) {
  pool_.tree.UpdateExpected(*gang.branch, ComputeUsage(gang, gang.gang_class->shape.slots), sign);
}

bool PoolPass::TryPreempt(GangState& gang) {
  GangClass& c = *gang.gang_class;
  if (!pool_.config.preemption || c.no_victims) return false;
  const std::vector<GangState*> victims = FindVictims(registry_, pool_, gang, claims_, changes_);
  if (victims.empty()) {
    c.no_victims = true;
    return false;
  }
  for (GangState* victim : victims) {
    SetTerminating(*victim, true);
    changes_.preemptions.push_back(
        {victim, &gang, absl::StrCat("its slots are needed by ", Described(gang))});
  }
  ++soon_version_;
  changed_ = true;
  return AwaitTerminating(gang);
}

bool PoolPass::IsFair() const { return pool_.config.policy == model::SchedulingPolicy::kFairShare; }

bool PoolPass::ClaimsImmediately(const GangState& gang) {
  const absl::Time held_from = gang.gang->queued_at + pool_.config.hold_after;
  if (pool_.now >= held_from) return true;
  changes_.look_again = std::min(changes_.look_again, held_from);
  return false;
}

void PoolPass::ClaimOrPass(GangState& gang) {
  GangClass& c = *gang.gang_class;
  const bool only_slots = c.shape.slots > 0 && c.shape.cpus == 0 && c.shape.memory == 0;
  if (c.shape.slots > 0 && !pool_.config.backfill && strict_ == nullptr) {
    strict_ = &gang;
    // It bars only gangs with slots; gangs without slots continue.
    if (!only_slots) AddClaim(gang);
  }
  const bool only_a_place = c.shape.slots == 0 && c.shape.cpus == 0 && c.shape.memory == 0;
  if (c.nothing_to_claim || only_a_place || (c.shape.slots > 0 && strict_ != nullptr)) {
    c.done = true;
    return;
  }
  size_t& unsatisfied = unsatisfied_[c.shape.slots == 0];
  if (unsatisfied >= kMaxClaims) {
    c.done = true;
    c.unclaimed = true;
    const GangState*& barred_by = barred_by_[c.shape.slots == 0];
    if (barred_by == nullptr) barred_by = &gang;
  } else if (!ClaimsImmediately(gang)) {
    soft_.push_back(&gang);
    ++unsatisfied;
  } else if (AddClaim(gang)) {
    ++unsatisfied;
  }
}

// Returns false if there is nothing that the gang could claim.
bool PoolPass::AddClaim(GangState& gang) {
  GangClass& c = *gang.gang_class;
  if (c.nothing_to_claim) return false;
  ClaimState claim = ChooseClaim(pool_, gang);
  claim.lacks = true;
  c.nothing_to_claim = claim.holds.empty();
  Apply(claim);
  // An empty claim counts as well: it gets what becomes free, so that no gang behind preempts for
  // it.
  claims_.push_back(std::move(claim));
  return !c.nothing_to_claim;
}

bool PoolPass::IsBarred(const GangClass& c) const {
  if (c.shape.slots == 0) return barred_without_slots_;
  for (size_t device = 0; device < barred_.size(); ++device) {
    if (barred_[device] && c.Matches(static_cast<int>(device))) return true;
  }
  return false;
}

}  // namespace det::scheduler
