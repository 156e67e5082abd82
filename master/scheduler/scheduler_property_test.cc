// Properties of the scheduler over random snapshots. A failure names its seed.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "master/scheduler/scheduler.h"
#include "master/scheduler/testing/make.h"
#include "master/scheduler/testing/oracle.h"
#include "master/scheduler/testing/random_snapshot.h"
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

// Whether somebody of the same pool waits for slots whose claim may hold against the gang.
bool WaitsBehind(const Snapshot& after, const Gang& gang) {
  const auto place = [&](const Gang& g) {
    const Job& job = JobOf(after, g.job);
    return std::tuple(job.priority, job.position, g.submitted, g.id);
  };
  return std::any_of(after.gangs.begin(), after.gangs.end(), [&](const Gang& other) {
    return other.resource_pool == gang.resource_pool && other.running_on.empty() &&
           other.slots > 0 && place(other) < place(gang);
  });
}

// Nothing of a worse priority starts ahead of what would fit without it. But where somebody ahead
// of both claims slots, with their cpus and memory: what ends by itself may use them; and a gang
// that lacks such cpus or memory keeps nobody from the places for gangs without slots.
void CheckOrder(const Snapshot& after, const Plan& plan, const Gang& gang) {
  const model::ResourcePool& pool = PoolOf(after, gang.resource_pool);
  if (pool.policy != SchedulingPolicy::kPriority) return;
  const int priority = JobOf(after, gang.job).priority;
  const bool others_claim = WaitsBehind(after, gang);
  if (others_claim && gang.slots == 0 && (gang.cpus > 0 || gang.memory > 0)) return;
  const auto less_important = [&](const Gang& other) {
    const bool lent = others_claim && other.max_run_time != absl::InfiniteDuration();
    return StartsIn(plan, other) && !lent && JobOf(after, other.job).priority > priority;
  };
  EXPECT_FALSE(FitsLeftover(after, gang, less_important))
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
    if (kind != Kind::kNoCapacity) continue;
    EXPECT_FALSE(FitsLeftover(after, gang, kNobody)) << gang.id << " fits what was left over";
    CheckOrder(after, scheduled.plan, gang);
  }
}

// Where one gang alone asks others away: without any of them it would not fit.
void CheckVictims(const Snapshot& before, const Scheduled& scheduled) {
  const Plan& plan = scheduled.plan;
  std::set<std::string> favoured;
  for (const Preemption& p : plan.preempt) {
    EXPECT_FALSE(p.reason.empty());
    if (p.in_favour_of) favoured.insert(p.in_favour_of->value());
    for (const Gang& gang : before.gangs) {
      if (gang.id != p.victim) continue;
      EXPECT_TRUE(gang.preemptible && !gang.leaving && !gang.running_on.empty()) << gang.id;
    }
  }
  const bool others_leave = std::any_of(before.gangs.begin(), before.gangs.end(),
                                        [](const Gang& g) { return g.leaving; });
  if (favoured.size() != 1 || others_leave) return;
  for (const Preemption& p : plan.preempt) {
    if (!p.in_favour_of) return;
  }
  for (const Gang& gang : before.gangs) {
    if (gang.id.value() != *favoured.begin()) continue;
    for (const Preemption& spared : plan.preempt) {
      const auto gone = [&](const Gang& other) {
        return other.id != spared.victim &&
               std::any_of(plan.preempt.begin(), plan.preempt.end(),
                           [&](const Preemption& p) { return p.victim == other.id; });
      };
      Snapshot after = before;
      Apply(plan, after);
      EXPECT_FALSE(FitsLeftover(after, gang, gone)) << spared.victim << " goes for nothing";
    }
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
  CheckVictims(before, scheduled);
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

TEST(SchedulePropertyTest, HoldsOnRandomSnapshots) {
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
    EXPECT_EQ(Asked(second.plan), "") << "the second round asks nobody away";
    if (HasFailure()) return;
  }
}

// One random change of what a Scheduler knows, told to it and made in the snapshot.
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

  // A pass, compared with that of a fresh scheduler; then it is carried out, in part.
  void Pass() {
    now_ += absl::Minutes(rng_.UniformInt(0, 10));
    const Snapshot dump = scheduler_.Dump(now_);
    const Scheduled fresh = Schedule(dump);
    const Plan plan = scheduler_.Pass(now_);
    EXPECT_EQ(plan, fresh.plan);
    EXPECT_EQ(scheduler_.Dump(now_), dump) << "a pass changes nothing";
    for (const Gang& gang : dump.gangs) {
      const auto reason = scheduler_.ReasonOf(gang.id);
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

TEST(SchedulePropertyTest, ASchedulerThatLivesAnswersAsAFreshOne) {
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

TEST(SchedulePropertyTest, ALoneGangThatWaitsForRoomStartsOnTheEmptyCluster) {
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
