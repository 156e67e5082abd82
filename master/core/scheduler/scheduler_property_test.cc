// Properties of the scheduler over random snapshots. A failure reports its seed.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/rng.h"
#include "master/core/scheduler/scheduler.h"
#include "master/core/scheduler/testing/make.h"
#include "master/core/scheduler/testing/oracle.h"
#include "master/core/scheduler/testing/random_snapshot.h"
#include <gtest/gtest.h>

namespace det::scheduler {
namespace {

using Kind = WaitReason::Kind;
using model::SchedulingPolicy;

bool StartsIn(const Plan& plan, const Gang& gang) {
  return std::any_of(plan.assign.begin(), plan.assign.end(),
                     [&](const Assignment& a) { return a.gang == gang.id; });
}

const auto kNobody = [](const Gang&) { return false; };

// The place in the queue of a policy with a fixed order.
auto GetPlace(const Snapshot& snapshot, const Gang& gang) {
  const Job& job = GetJob(snapshot, gang.job);
  const bool by_priority =
      GetPool(snapshot, gang.resource_pool).policy == SchedulingPolicy::kPriority;
  return std::tuple(by_priority ? job.priority : 0, job.position, gang.submitted, gang.id);
}

// Returns the gangs of its pool that wait ahead of the gang and may claim free slots.
std::vector<Gang> GetWaitingAhead(const Snapshot& after, const Scheduled& scheduled,
                                  const Gang& gang) {
  std::vector<Gang> ahead;
  for (const Gang& other : after.gangs) {
    const auto waiting = scheduled.waiting.find(other.id);
    if (other.resource_pool != gang.resource_pool || waiting == scheduled.waiting.end()) continue;
    const Kind kind = waiting->second.kind;
    const bool holds = kind == Kind::kNoCapacity || kind == Kind::kBehindOthers ||
                       kind == Kind::kAwaitingPreemption || kind == Kind::kMaintenance;
    if (holds && GetPlace(after, other) < GetPlace(after, gang)) ahead.push_back(other);
  }
  return ahead;
}

bool RunsWhere(const Snapshot& after, const Gang& other, const Gang& waiting) {
  for (const model::Placement& placement : other.running_on) {
    for (const Node& node : after.nodes) {
      if (node.id != placement.agent) continue;
      for (const Slot& slot : node.slots) {
        const bool has = std::find(placement.slots.begin(), placement.slots.end(), slot.id) !=
                         placement.slots.end();
        if (has && CouldUse(after, waiting, node, slot)) return true;
      }
    }
  }
  return false;
}

// Returns when all gangs up to `waiting` can start together: no claim of any of them is complete
// later. May be unknown.
std::optional<absl::Time> AllFitAt(const Snapshot& after, const Scheduled& scheduled,
                                   Gang waiting) {
  const auto behind = [&](const Gang& other) {
    return StartsIn(scheduled.plan, other) && GetPlace(after, waiting) < GetPlace(after, other);
  };
  if (!FitsAt(after, waiting, behind)) return std::nullopt;
  for (const Gang& other : GetWaitingAhead(after, scheduled, waiting)) waiting.slots += other.slots;
  return FitsAt(after, waiting, behind).value_or(absl::InfiniteFuture());
}

// Whether the other gang may have been backfilled on slots that a gang ahead, or this gang, waits
// for: it ends before that gang has all it needs.
bool LentTo(const Snapshot& after, const Scheduled& scheduled, const Gang& gang, const Gang& other,
            bool by_itself = false) {
  if (other.slots == 0 || other.max_run_time == absl::InfiniteDuration()) return false;
  if (!GetPool(after, gang.resource_pool).backfill) return false;
  std::vector<Gang> ahead = GetWaitingAhead(after, scheduled, gang);
  if (by_itself) ahead.push_back(gang);
  return std::any_of(ahead.begin(), ahead.end(), [&](const Gang& waiting) {
    if (waiting.slots == 0 || waiting.fraction < 1 || waiting.cpus > 0 || waiting.memory > 0) {
      return false;
    }
    if (!RunsWhere(after, other, waiting)) return false;
    const auto whole = AllFitAt(after, scheduled, waiting);
    return whole && after.now + other.max_run_time <= *whole;
  });
}

bool IsBehind(const Snapshot& after, const Gang& gang, const Gang& other) {
  const model::ResourcePool& pool = GetPool(after, gang.resource_pool);
  const auto own = GetPlace(after, gang);
  const auto its = GetPlace(after, other);
  const bool holds = gang.queued_at + pool.hold_after <= after.now;
  return holds ? own < its : std::get<0>(own) < std::get<0>(its);
}

// A gang that may use several nodes claims all free slots until it has enough: no gang behind it
// starts on one of them.
void CheckClaim(const Snapshot& after, const Scheduled& scheduled, const Gang& gang) {
  const model::ResourcePool& pool = GetPool(after, gang.resource_pool);
  const bool anywhere = !gang.single_node && pool.heterogeneous && gang.fraction == 1;
  const bool only_slots = gang.slots > 0 && gang.cpus == 0 && gang.memory == 0;
  const bool maintained = std::any_of(after.nodes.begin(), after.nodes.end(),
                                      [](const Node& node) { return !node.maintenance.empty(); });
  if (pool.policy == SchedulingPolicy::kFairShare || !anywhere || !only_slots || maintained) return;
  // A gang that could not run in the empty pool holds nothing.
  if (!FitsLeftover(after, gang, [](const Gang&) { return true; })) return;
  for (const Gang& other : after.gangs) {
    if (!StartsIn(scheduled.plan, other) || other.resource_pool != gang.resource_pool) continue;
    if (other.fraction < 1 || !IsBehind(after, gang, other)) continue;
    if (LentTo(after, scheduled, gang, other, /*by_itself=*/true)) continue;
    EXPECT_FALSE(RunsWhere(after, other, gang))
        << other.id << " has slots that are " << gang.id << "'s";
  }
}

// No gang behind the gang starts where the gang would fit otherwise: none of a lower priority, and
// none of equal priority once it has waited for hold_after. Claims of gangs ahead of it may be used
// by backfilled gangs.
void CheckOrder(const Snapshot& after, const Scheduled& scheduled, const Gang& gang, Kind kind) {
  const model::ResourcePool& pool = GetPool(after, gang.resource_pool);
  if (pool.policy == SchedulingPolicy::kFairShare) return;
  const auto behind = [&](const Gang& other) {
    return StartsIn(scheduled.plan, other) && other.resource_pool == gang.resource_pool &&
           IsBehind(after, gang, other) && !LentTo(after, scheduled, gang, other);
  };
  Snapshot left = after;
  if (kind == Kind::kBehindOthers) {
    const std::vector<Gang> ahead = GetWaitingAhead(after, scheduled, gang);
    const bool slots =
        std::any_of(ahead.begin(), ahead.end(), [](const Gang& other) { return other.slots > 0; });
    if (!pool.backfill && slots && gang.slots > 0) return;
    left = RemoveHeldResources(after, ahead);
  }
  EXPECT_FALSE(FitsLeftover(left, gang, behind))
      << gang.id << " would fit without what started behind it";
}

void CheckWaiting(const Snapshot& after, const Scheduled& scheduled) {
  for (const Gang& gang : after.gangs) {
    const auto waiting = scheduled.waiting.find(gang.id);
    EXPECT_EQ(gang.running_on.empty(), waiting != scheduled.waiting.end()) << gang.id;
    if (waiting == scheduled.waiting.end()) continue;
    const Kind kind = waiting->second.kind;
    EXPECT_FALSE(waiting->second.text.empty());
    EXPECT_EQ(kind == Kind::kBehindOthers, waiting->second.behind.has_value());
    if (kind == Kind::kNoCapacity) {
      EXPECT_FALSE(FitsLeftover(after, gang, kNobody)) << gang.id << " fits what was left over";
    }
    if (kind == Kind::kNoCapacity || kind == Kind::kBehindOthers) {
      CheckOrder(after, scheduled, gang, kind);
      CheckClaim(after, scheduled, gang);
    }
  }
}

bool AwaitsOthers(const Scheduled& scheduled, const Gang& gang) {
  const auto waiting = scheduled.waiting.find(gang.id);
  return waiting != scheduled.waiting.end() && waiting->second.kind == Kind::kAwaitingPreemption;
}

// Returns the snapshot of running gangs and the gangs that others are preempted for, without the
// gangs that are terminating or were preempted up to `last` (except `spared`), and without the
// claims of other waiting gangs.
Snapshot WithSpared(const Snapshot& after, const Scheduled& scheduled, size_t last, size_t spared) {
  const std::vector<Preemption>& preemptions = scheduled.plan.preempt;
  const auto find_index = [&](const auto& matches) {
    return static_cast<size_t>(std::find_if(preemptions.begin(), preemptions.end(), matches) -
                               preemptions.begin());
  };
  std::string pool;
  for (const Gang& gang : after.gangs) {
    if (gang.id == *preemptions[last].preemptor) pool = gang.resource_pool;
  }
  Snapshot left = after;
  std::vector<Gang> waiting;
  for (const Gang& gang : after.gangs) {
    if (gang.running_on.empty() && gang.resource_pool == pool && !AwaitsOthers(scheduled, gang)) {
      waiting.push_back(gang);
    }
  }
  std::erase_if(left.gangs, [&](const Gang& gang) {
    if (gang.running_on.empty()) {
      const size_t at = find_index([&](const Preemption& p) { return p.preemptor == gang.id; });
      const bool served = at == preemptions.size() || at <= last;
      return gang.resource_pool != pool || !AwaitsOthers(scheduled, gang) || !served;
    }
    const size_t at = find_index([&](const Preemption& p) { return p.victim == gang.id; });
    return gang.terminating && at != spared && (at == preemptions.size() || at <= last);
  });
  for (Gang& gang : left.gangs) {
    if (gang.running_on.empty()) gang.max_slots = 0;
    gang.terminating = false;
  }
  return RemoveHeldResources(std::move(left), waiting);
}

// Each victim is needed when it is preempted: without it, but with all previous victims, not all
// gangs that they are preempted for could start.
void CheckVictims(const Snapshot& before, const Snapshot& after, const Scheduled& scheduled) {
  const std::vector<Preemption>& preemptions = scheduled.plan.preempt;
  for (const Preemption& p : preemptions) {
    EXPECT_FALSE(p.reason.empty());
    for (const Gang& gang : before.gangs) {
      if (gang.id != p.victim) continue;
      EXPECT_TRUE(gang.preemptible && !gang.terminating && !gang.running_on.empty()) << gang.id;
    }
  }
  // Forced preemptions free slots that the check does not know.
  const bool has_forced = std::any_of(preemptions.begin(), preemptions.end(),
                                      [](const Preemption& p) { return !p.preemptor; });
  for (size_t spared = 0; spared < preemptions.size() && !has_forced; ++spared) {
    size_t last = spared;
    while (last + 1 < preemptions.size() &&
           preemptions[last + 1].preemptor == preemptions[spared].preemptor) {
      ++last;
    }
    const Snapshot without = WithSpared(after, scheduled, last, spared);
    const auto waiting = std::count_if(without.gangs.begin(), without.gangs.end(),
                                       [](const Gang& g) { return g.running_on.empty(); });
    EXPECT_LT(Schedule(without).plan.assign.size(), static_cast<size_t>(waiting))
        << preemptions[spared].victim << " is preempted without need";
  }
}

void CheckPlan(const Snapshot& before, const Scheduled& scheduled) {
  Snapshot after = before;
  Apply(scheduled.plan, after);
  for (const Gang& gang : after.gangs) {
    if (!StartsIn(scheduled.plan, gang)) continue;
    EXPECT_EQ(WrongPlacement(after, gang), "") << gang.id;
  }
  EXPECT_EQ(OverLimit(after, scheduled.plan), "");
  CheckWaiting(after, scheduled);
  CheckVictims(before, after, scheduled);
}

void CheckDeterminism(base::Rng& rng, const Snapshot& snapshot, const Scheduled& scheduled) {
  Snapshot shuffled = snapshot;
  rng.Shuffle(shuffled.pools);
  rng.Shuffle(shuffled.nodes);
  rng.Shuffle(shuffled.jobs);
  rng.Shuffle(shuffled.gangs);
  rng.Shuffle(shuffled.limits);
  const Scheduled again = Schedule(shuffled);
  EXPECT_EQ(again.plan, scheduled.plan) << "the order of the lists must not matter";
  EXPECT_EQ(again.waiting, scheduled.waiting);
}

TEST(SchedulePropertyTest, SatisfiesInvariantsOnRandomSnapshots) {
  for (uint64_t seed = 0; seed < 100000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    base::Rng rng(seed);
    const Snapshot snapshot = RandomSnapshot(rng);
    const Scheduled scheduled = Schedule(snapshot);
    CheckPlan(snapshot, scheduled);
    CheckDeterminism(rng, snapshot, scheduled);

    Snapshot after = snapshot;
    Apply(scheduled.plan, after);
    const Scheduled second = Schedule(after);
    EXPECT_EQ(Starts(second.plan), "") << "the second round starts nothing";
    EXPECT_EQ(Preempted(second.plan), "") << "the second pass preempts nothing";
    if (HasFailure()) return;
  }
}

// Makes one random change in the Scheduler and in the snapshot.
class Story {
 public:
  explicit Story(uint64_t seed) : rng_(seed) {
    snapshot_ = RandomSnapshot(rng_);
    for (const auto& pool : snapshot_.pools) scheduler_.Put(pool);
    for (const Gang& gang : snapshot_.gangs) scheduler_.Put(gang);
    for (const Node& node : snapshot_.nodes) scheduler_.Put(node);
    for (const Job& job : snapshot_.jobs) scheduler_.Put(job);
    for (const Limit& limit : snapshot_.limits) scheduler_.Put(limit);
  }

  void Step() {
    const int number = static_cast<int>(rng_.UniformInt(1, 12));
    switch (rng_.UniformInt(0, 7)) {
      case 0:
        return scheduler_.Put(RandomNode(rng_, 1 + number % 6));
      case 1:
        return scheduler_.RemoveNode(model::AgentId(absl::StrCat("n", 1 + number % 6)));
      case 2:
        return scheduler_.Put(RandomJob(rng_, number % 6));
      case 3:
        return scheduler_.RemoveJob(model::JobId(absl::StrCat("j", number % 6)));
      case 4:
        return scheduler_.RemoveGang(model::AllocationId(absl::StrCat("g", number)));
      case 5:
        return scheduler_.Put(RandomLimit(rng_));
      default:
        return scheduler_.Put(RandomGang(rng_, number));
    }
  }

  // Runs a pass, compares it with that of a fresh scheduler, and carries out a part of its plan.
  void Pass() {
    now_ += absl::Minutes(rng_.UniformInt(0, 10));
    const Snapshot dump = scheduler_.Dump(now_);
    const Scheduled fresh = Schedule(dump);
    const Plan plan = scheduler_.Pass(now_);
    EXPECT_EQ(plan, fresh.plan);
    EXPECT_EQ(scheduler_.Dump(now_), dump) << "a pass changes nothing";
    for (const Gang& gang : dump.gangs) {
      const auto reason = scheduler_.GetWaitReason(gang.id);
      const auto expected = fresh.waiting.find(gang.id);
      if (expected == fresh.waiting.end()) continue;
      EXPECT_EQ(reason, expected->second) << gang.id;
    }
    Snapshot after = dump;
    Apply(plan, after);
    for (size_t i = 0; i < after.gangs.size(); ++i) {
      if (after.gangs[i] != dump.gangs[i] && rng_.UniformInt(0, 4) > 0) {
        scheduler_.Put(after.gangs[i]);
      }
    }
  }

 private:
  base::Rng rng_;
  Snapshot snapshot_;
  Scheduler scheduler_;
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
};

TEST(SchedulePropertyTest, MatchesFreshSchedulerAfterChanges) {
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Story story(seed);
    for (int pass = 0; pass < 5; ++pass) {
      for (int step = 0; step < 3; ++step) story.Step();
      story.Pass();
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(SchedulePropertyTest, StartsLoneGangOnEmptyCluster) {
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    base::Rng rng(seed);
    const Snapshot snapshot = RandomSnapshot(rng);
    for (const auto& [id, reason] : Schedule(snapshot).waiting) {
      const auto gang = std::find_if(snapshot.gangs.begin(), snapshot.gangs.end(),
                                     [&](const Gang& g) { return g.id == id; });
      Snapshot alone = snapshot;
      alone.gangs = {*gang};
      alone.limits.clear();
      for (Node& node : alone.nodes) {
        node.accepts_work = true;
        node.maintenance.clear();
        for (Slot& slot : node.slots) slot.enabled = true;
      }
      const bool never = reason.kind == Kind::kInfeasible || reason.kind == Kind::kNotBound;
      EXPECT_EQ(Schedule(alone).plan.assign.size(), never ? 0u : 1u) << id << ": " << reason.text;
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace det::scheduler
