// The choice of preemption victims; docs/scheduling.md, Preemption.
#include <algorithm>
#include <vector>

#include "master/core/scheduler/claims.h"
#include "master/core/scheduler/fair_share.h"
#include "master/core/scheduler/fit.h"
#include "master/core/scheduler/holdings.h"
#include "master/core/scheduler/pass.h"

namespace det::scheduler {
namespace {

enum class Answer { kYes, kNo, kNobodyBehind };

// Whether the gang may preempt the other one; kNobodyBehind: neither it nor any later candidate.
Answer MayPreempt(const Registry& registry, const GangState& gang, const GangState& other) {
  const int own = GetPriority(gang);
  if (*other.victim_priority > own) return Answer::kYes;
  if (*other.victim_priority < own || !registry.any_position_set()) return Answer::kNobodyBehind;
  const Job& a = gang.job->job;
  const Job& b = other.job->job;
  const bool behind = (a.position_set || b.position_set) && a.position < b.position;
  return behind ? Answer::kYes : Answer::kNo;
}

// Whether the class could use anything that the gang holds.
bool IsOfUse(const GangClass& c, const GangState& other) {
  for (const Hold& hold : other.holds) {
    if (hold.node->pool != c.pool || !c.pool->IsOpen(*hold.node)) continue;
    if (c.shape.slots == 0 &&
        (other.gang_class->shape.slots == 0 || c.shape.memory > 0 || c.shape.cpus > 0)) {
      return true;
    }
    if ((c.shape.cpus > 0 && other.gang_class->shape.cpus > 0) ||
        (c.shape.memory > 0 && other.gang_class->shape.memory > 0)) {
      return true;
    }
    for (const int slot : hold.slots) {
      if (c.Matches(hold.node->slots[static_cast<size_t>(slot)].device)) return true;
    }
  }
  return false;
}

// A cheap necessary condition for a fit after the other gang has released its slots.
bool MayFitNow(const PoolState& pool, const GangClass& c, const GangState& other) {
  if (c.shape.slots == 0 || c.shape.fraction < kWhole) return true;
  if (!c.shape.single_node && c.view(kSoon).total_free() >= c.shape.slots) return true;
  return std::any_of(other.holds.begin(), other.holds.end(), [&](const Hold& hold) {
    return hold.node->pool == &pool && hold.node->node &&
           c.view(kSoon).free(hold.node->rank) >= c.shape.slots;
  });
}

bool FitsSoon(const PoolState& pool, const GangClass& c) {
  return Fit(pool, c, c.shape.slots, kSoon).has_value();
}

bool Touches(const GangState& gang, const Fitting& fitting) {
  return std::any_of(fitting.begin(), fitting.end(), [&](const Share& share) {
    return std::any_of(gang.holds.begin(), gang.holds.end(),
                       [&](const Hold& hold) { return hold.node == share.node; });
  });
}

// Removes victims that are not needed for the fit, the most useful first.
void Spare(const PoolState& pool, const GangClass& c, std::vector<GangState*>& victims) {
  const Fitting fitting = *Fit(pool, c, c.shape.slots, kSoon);
  std::erase_if(victims, [&](GangState* victim) {
    if (Touches(*victim, fitting)) return false;
    MarkTerminating(*victim, false);
    return true;
  });
  for (auto it = victims.rbegin(); it != victims.rend(); ++it) {
    MarkTerminating(**it, false);
    if (FitsSoon(pool, c)) {
      *it = nullptr;
    } else {
      MarkTerminating(**it, true);
    }
  }
  std::erase(victims, nullptr);
}

// The victims tried so far, which are marked as terminating until the destructor.
class VictimSearch {
 public:
  VictimSearch(const PoolState& pool, const GangClass& c) : pool_(pool), class_(c) {}
  ~VictimSearch() {
    for (GangState* victim : victims_) MarkTerminating(*victim, false);
  }
  VictimSearch(const VictimSearch&) = delete;
  VictimSearch& operator=(const VictimSearch&) = delete;

  // Adds a victim; returns whether the victims suffice.
  bool Add(GangState& victim) {
    MarkTerminating(victim, true);
    victims_.push_back(&victim);
    return MayFitNow(pool_, class_, victim) && FitsSoon(pool_, class_);
  }
  // Returns the victims that the gang needs. REQUIRES that they suffice.
  std::vector<GangState*> Needed() {
    Spare(pool_, class_, victims_);
    return victims_;
  }

 private:
  const PoolState& pool_;
  const GangClass& class_;
  std::vector<GangState*> victims_;
};

// Whether what the other gang releases would go to a gang ahead of this one.
bool WouldGoToOthers(const std::vector<ClaimState>& claims, const GangState& other) {
  return std::any_of(claims.begin(), claims.end(),
                     [&](const ClaimState& claim) { return WouldTake(claim, other); });
}

std::vector<GangState*> FindByShare(PoolState& pool, const GangState& gang,
                                    const std::vector<ClaimState>& claims, Changes& changes) {
  const GangClass& c = *gang.gang_class;
  // Gangs without slots have no share to compare.
  if (c.shape.slots == 0) return {};
  FairVictims candidates(pool, gang);
  VictimSearch search(pool, c);
  while (GangState* other = candidates.Next()) {
    if (!IsOfUse(c, *other) || WouldGoToOthers(claims, *other)) continue;
    candidates.Take(*other);
    if (search.Add(*other)) return search.Needed();
  }
  changes.look_again = std::min(changes.look_again, candidates.first_settled());
  return {};
}

}  // namespace

std::vector<GangState*> FindVictims(const Registry& registry, PoolState& pool,
                                    const GangState& gang, const std::vector<ClaimState>& claims,
                                    Changes& changes) {
  if (pool.PreemptsByShare()) return FindByShare(pool, gang, claims, changes);
  const GangClass& c = *gang.gang_class;
  VictimSearch search(pool, c);
  for (GangState* other : pool.victims) {
    const Answer answer = MayPreempt(registry, gang, *other);
    if (answer == Answer::kNobodyBehind) break;
    if (answer == Answer::kNo || !IsOfUse(c, *other)) continue;
    if (WouldGoToOthers(claims, *other)) continue;
    if (search.Add(*other)) return search.Needed();
  }
  return {};
}

}  // namespace det::scheduler
