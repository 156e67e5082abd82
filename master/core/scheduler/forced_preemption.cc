#include "master/core/scheduler/forced_preemption.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "master/core/scheduler/claims.h"
#include "master/core/scheduler/fit.h"
#include "master/core/scheduler/holdings.h"
#include "master/core/scheduler/limits.h"
#include "master/core/scheduler/reason_text.h"
#include "master/core/scheduler/victim_order.h"

namespace det::scheduler {
namespace {

void RequestPreemption(GangState& gang, std::string reason, Changes& changes) {
  SetTerminating(gang, true);
  changes.preemptions.push_back({&gang, nullptr, std::move(reason)});
}

// Returns the running gangs of the job to preempt so that at least `excess` slots are released.
// Chooses them in victim order, and leaves out each gang without which the others suffice.
std::vector<GangState*> ChooseVictims(const JobState& job, Micro excess) {
  std::vector<GangState*> candidates;
  for (GangState* gang : job.running) {
    if (gang->victim_priority && gang->held > 0) candidates.push_back(gang);
  }
  std::sort(candidates.begin(), candidates.end(), VictimOrder());
  std::vector<GangState*> chosen;
  for (GangState* gang : candidates) {
    if (excess <= 0) break;
    chosen.push_back(gang);
    excess -= gang->held;
  }
  for (auto it = chosen.rbegin(); it != chosen.rend(); ++it) {
    if (excess + (*it)->held > 0) continue;
    excess += (*it)->held;
    *it = nullptr;
  }
  std::erase(chosen, nullptr);
  return chosen;
}

// Returns the maximum number of slots with which the gang could restart, at least its current
// number. If it is larger, sets the holds of `claim` to these slots.
int FindMaxSlots(PoolState& pool, GangState& gang, ClaimState& claim) {
  const GangClass& c = *gang.gang_class;
  int max_fitting = gang.slots();
  int too_many = std::min(c.shape.max_slots, SlotsWithinLimits(gang) + gang.slots()) + 1;
  MarkTerminating(gang, true);
  while (too_many - max_fitting > 1) {
    const int tried = max_fitting + (too_many - max_fitting) / 2;
    if (const auto fitting = Fit(pool, c, tried, kSoon)) {
      max_fitting = tried;
      claim.holds = MakeHolds(c, *fitting, kSoon);
    } else {
      too_many = tried;
    }
  }
  MarkTerminating(gang, false);
  return max_fitting;
}

bool HasWaitingGang(const PoolState& pool) {
  for (const auto& [shape, gang_class] : pool.classes) {
    if (shape.slots == 0 || !gang_class->feasible) continue;
    for (const JobQueue* queue : gang_class->queues) {
      for (const GangState* gang : queue->gangs) {
        // A gang that a limit holds back would not start anyway.
        if (!gang->fresh && !FindExceededLimit(*gang)) return true;
      }
    }
  }
  return false;
}

}  // namespace

void ReleaseAboveLimits(const Registry& registry, Changes& changes) {
  for (const auto& [id, job] : registry.limited()) {
    const Micro excess = job->held - job->terminating - ToMicro(*job->job.max_slots);
    if (excess <= 0) continue;
    const Micro held = job->held - job->terminating;
    for (GangState* gang : ChooseVictims(*job, excess)) {
      RequestPreemption(*gang,
                        absl::StrCat("its experiment holds ", FormatMicroSlots(held),
                                     held == kWhole ? " slot" : " slots", ", and its max_slots is ",
                                     *job->job.max_slots),
                        changes);
    }
  }
}

void DrainForMaintenance(PoolState& pool, Changes& changes) {
  const auto reconsider_at = [&](absl::Time time) {
    if (time > pool.now) changes.look_again = std::min(changes.look_again, time);
  };
  for (NodeState* node : pool.with_maintenance) {
    for (const Maintenance& window : node->node->maintenance) {
      reconsider_at(window.begin - pool.config.maintenance_lead);
      reconsider_at(window.begin);
      reconsider_at(window.end);
    }
    if (!node->in_maintenance) continue;
    std::vector<GangState*> gangs = node->gangs;
    std::sort(gangs.begin(), gangs.end(),
              [](const GangState* a, const GangState* b) { return a->gang->id < b->gang->id; });
    for (GangState* gang : gangs) {
      if (!gang->victim_priority) continue;
      RequestPreemption(*gang, absl::StrCat("agent ", node->id.value(), " is in maintenance"),
                        changes);
    }
  }
}

void GrowElastic(PoolState& pool, Changes& changes) {
  if (pool.elastic.empty() || pool.terminating > 0 || HasWaitingGang(pool)) return;
  std::set<const JobState*> jobs;
  std::vector<ClaimState> claims;
  std::vector<std::pair<GangState*, int>> grow;
  for (GangState* gang : pool.elastic) {
    ClaimState claim{.gang = gang, .holds = {}};
    if (jobs.contains(gang->job)) continue;
    const int max_slots = FindMaxSlots(pool, *gang, claim);
    if (max_slots * 2 < gang->slots() * 3) continue;
    if (pool.now < gang->started_at + kMinRunBeforePreemption) {
      changes.look_again = std::min(changes.look_again, gang->started_at + kMinRunBeforePreemption);
      continue;
    }
    Apply(claim);
    claims.push_back(std::move(claim));
    jobs.insert(gang->job);
    grow.emplace_back(gang, max_slots);
  }
  for (const ClaimState& claim : claims) Release(claim);
  for (const auto& [gang, slots] : grow) {
    RequestPreemption(*gang,
                      absl::StrCat("it can run with ", Slots(slots), " instead of ", gang->slots()),
                      changes);
  }
}

}  // namespace det::scheduler
