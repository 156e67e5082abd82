// Whom to ask away. docs/scheduling.md, Preemption.
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

// Whether the gang may ask the other away; kNobodyBehind: nor any that would be asked after it.
Answer MayAsk(const Books& books, const GangState& gang, const GangState& other) {
  const int own = PriorityOf(gang);
  if (*other.victim_priority > own) return Answer::kYes;
  if (*other.victim_priority < own || !books.any_position_set()) return Answer::kNobodyBehind;
  const Job& a = gang.job->job;
  const Job& b = other.job->job;
  const bool behind = (a.position_set || b.position_set) && a.position < b.position;
  return behind ? Answer::kYes : Answer::kNo;
}

// Whether any of what it holds is of use to the class.
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

// Cheaper than a fit: whether what the other leaves may have made the gang fit.
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

// Leaves those alone whose stay does not prevent the fit, the most useful first.
void Spare(const PoolState& pool, const GangClass& c, std::vector<GangState*>& victims) {
  const Fitting fitting = *Fit(pool, c, c.shape.slots, kSoon);
  std::erase_if(victims, [&](GangState* victim) {
    if (Touches(*victim, fitting)) return false;
    MarkLeaving(*victim, false);
    return true;
  });
  for (auto it = victims.rbegin(); it != victims.rend(); ++it) {
    MarkLeaving(**it, false);
    if (FitsSoon(pool, c)) {
      *it = nullptr;
    } else {
      MarkLeaving(**it, true);
    }
  }
  std::erase(victims, nullptr);
}

// Those tried so far, whose leaving is marked until the end of this.
class VictimSearch {
 public:
  VictimSearch(const PoolState& pool, const GangClass& c) : pool_(pool), class_(c) {}
  ~VictimSearch() {
    for (GangState* victim : victims_) MarkLeaving(*victim, false);
  }
  VictimSearch(const VictimSearch&) = delete;
  VictimSearch& operator=(const VictimSearch&) = delete;

  // Whether it is enough with this one.
  bool Add(GangState& victim) {
    MarkLeaving(victim, true);
    victims_.push_back(&victim);
    return MayFitNow(pool_, class_, victim) && FitsSoon(pool_, class_);
  }
  // Of those, whom the gang needs. REQUIRES that it is enough.
  std::vector<GangState*> Needed() {
    Spare(pool_, class_, victims_);
    return victims_;
  }

 private:
  const PoolState& pool_;
  const GangClass& class_;
  std::vector<GangState*> victims_;
};

// Whether what the other gives up would go to somebody ahead of the gang.
bool GoesToOthers(const std::vector<ClaimState>& claims, const GangState& other) {
  return std::any_of(claims.begin(), claims.end(),
                     [&](const ClaimState& claim) { return WouldTake(claim, other); });
}

std::vector<GangState*> FindByShare(PoolState& pool, const GangState& gang,
                                    const std::vector<ClaimState>& claims, Changes& changes) {
  const GangClass& c = *gang.gang_class;
  // Gangs without slots have no share that they could be above or below.
  if (c.shape.slots == 0) return {};
  FairVictims candidates(pool, gang);
  VictimSearch search(pool, c);
  while (GangState* other = candidates.Next()) {
    if (!IsOfUse(c, *other) || GoesToOthers(claims, *other)) continue;
    candidates.Take(*other);
    if (search.Add(*other)) return search.Needed();
  }
  changes.look_again = std::min(changes.look_again, candidates.first_settled());
  return {};
}

}  // namespace

std::vector<GangState*> FindVictims(const Books& books, PoolState& pool, const GangState& gang,
                                    const std::vector<ClaimState>& claims, Changes& changes) {
  if (pool.AsksByShare()) return FindByShare(pool, gang, claims, changes);
  const GangClass& c = *gang.gang_class;
  VictimSearch search(pool, c);
  for (GangState* other : pool.victims) {
    const Answer answer = MayAsk(books, gang, *other);
    if (answer == Answer::kNobodyBehind) break;
    if (answer == Answer::kNo || !IsOfUse(c, *other)) continue;
    if (GoesToOthers(claims, *other)) continue;
    if (search.Add(*other)) return search.Needed();
  }
  return {};
}

}  // namespace det::scheduler
