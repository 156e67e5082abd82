#include "master/scheduler/scheduler.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "master/model/names.h"
#include "master/scheduler/books.h"
#include "master/scheduler/duties.h"
#include "master/scheduler/feasible.h"
#include "master/scheduler/holdings.h"
#include "master/scheduler/notes.h"
#include "master/scheduler/order.h"
#include "master/scheduler/pass.h"
#include "master/scheduler/reasons.h"

namespace det::scheduler {
namespace {

constexpr model::Name<WaitReason::Kind> kKindNames[] = {
    {WaitReason::Kind::kNoCapacity, "NO_CAPACITY"},
    {WaitReason::Kind::kInfeasible, "INFEASIBLE"},
    {WaitReason::Kind::kOverMaxSlots, "OVER_MAX_SLOTS"},
    {WaitReason::Kind::kOverMaxTrials, "OVER_MAX_TRIALS"},
    {WaitReason::Kind::kOverQuota, "OVER_QUOTA"},
    {WaitReason::Kind::kNotBound, "NOT_BOUND"},
    {WaitReason::Kind::kBehindOthers, "BEHIND_OTHERS"},
    {WaitReason::Kind::kAwaitingPreemption, "AWAITING_PREEMPTION"},
    {WaitReason::Kind::kMaintenance, "MAINTENANCE"},
};

std::vector<model::Placement> PlacementsOf(const GangState& gang) {
  std::vector<model::Placement> placements;
  for (const Hold& hold : gang.holds) {
    model::Placement placement{hold.node->id, {}};
    for (const int slot : hold.slots) {
      placement.slots.push_back(hold.node->slots[static_cast<size_t>(slot)].id);
    }
    placements.push_back(std::move(placement));
  }
  return placements;
}

// What a pass found, as the caller sees it.
Plan PlanOf(const Changes& changes) {
  Plan plan;
  for (const GangState* gang : changes.started) {
    plan.assign.push_back({gang->gang->id, PlacementsOf(*gang)});
  }
  for (const Asked& asked : changes.asked) {
    Preemption& preemption = plan.preempt.emplace_back();
    preemption.victim = asked.victim->gang->id;
    if (asked.in_favour_of != nullptr) preemption.in_favour_of = asked.in_favour_of->gang->id;
    preemption.reason = asked.reason;
  }
  if (changes.look_again != absl::InfiniteFuture()) plan.look_again = changes.look_again;
  return plan;
}

// The state as it was before.
void Undo(const Changes& changes) {
  for (GangState* gang : changes.started) {
    Vacate(*gang);
    gang->fresh = false;
    --gang->job->fresh;
  }
  for (const Asked& asked : changes.asked) SetLeaving(*asked.victim, false);
}

Plan RunPass(Books& books, absl::Time now) {
  Changes changes;
  ReleaseAboveLimits(books, changes);
  for (const auto& [name, pool] : books.pools()) {
    pool->Prepare(now);
    DrainForMaintenance(*pool, changes);
  }
  const absl::Time next_window = changes.look_again;
  // Until nothing happens: a start may use up a limit, so that a sibling no longer holds others
  // back.
  for (bool changed = true; changed;) {
    changed = false;
    changes.look_again = next_window;
    for (const auto& [name, pool] : books.pools()) {
      if (PoolPass(books, *pool, changes).Run()) changed = true;
    }
  }
  for (const auto& [name, pool] : books.pools()) GrowElastic(*pool, changes);
  Plan plan = PlanOf(changes);
  Undo(changes);
  return plan;
}

}  // namespace

std::string_view ToString(WaitReason::Kind kind) { return model::TextOf(kKindNames, kind); }

class Scheduler::Impl {
 public:
  Books books;
};

Scheduler::Scheduler() : impl_(std::make_unique<Impl>()) {}
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;
Scheduler::~Scheduler() = default;

void Scheduler::Put(model::ResourcePool pool) { impl_->books.Put(std::move(pool)); }
void Scheduler::RemovePool(const std::string& name) { impl_->books.RemovePool(name); }
void Scheduler::Put(Node node) { impl_->books.Put(std::move(node)); }
void Scheduler::RemoveNode(const model::AgentId& id) { impl_->books.RemoveNode(id); }
void Scheduler::Put(Job job) { impl_->books.Put(std::move(job)); }
void Scheduler::RemoveJob(const model::JobId& id) { impl_->books.RemoveJob(id); }
void Scheduler::Put(Gang gang) { impl_->books.Put(std::move(gang)); }
void Scheduler::RemoveGang(const model::AllocationId& id) { impl_->books.RemoveGang(id); }
void Scheduler::Put(Limit limit) { impl_->books.Put(std::move(limit)); }
void Scheduler::RemoveLimit(model::Quota::Scope scope, const std::string& name) {
  impl_->books.RemoveLimit(scope, name);
}

Plan Scheduler::Pass(absl::Time now) { return RunPass(impl_->books, now); }

std::optional<WaitReason> Scheduler::ReasonOf(const model::AllocationId& id) const {
  const GangState* gang = impl_->books.FindGang(id);
  if (gang == nullptr || gang->running) return std::nullopt;
  return WhyItWaits(impl_->books, *gang);
}

std::vector<model::AllocationId> Scheduler::Queue(const std::string& resource_pool) const {
  const PoolState* pool = impl_->books.FindPool(resource_pool);
  std::vector<std::pair<Place, const GangState*>> waiting;
  if (pool == nullptr || pool->notes->order == nullptr) return {};
  impl_->books.ForEachWaiting(*pool, [&](const GangState& gang) {
    waiting.emplace_back(pool->notes->order->PlaceOf(gang), &gang);
  });
  std::sort(waiting.begin(), waiting.end());
  std::vector<model::AllocationId> ids;
  for (const auto& [place, gang] : waiting) ids.push_back(gang->gang->id);
  return ids;
}

absl::Status Scheduler::CanEverRun(const Gang& gang) const { return impl_->books.CanEverRun(gang); }

Snapshot Scheduler::Dump(absl::Time now) const { return impl_->books.Dump(now); }

Scheduled Schedule(const Snapshot& snapshot) {
  Books books;
  books.Reserve(snapshot.gangs.size(), snapshot.jobs.size());
  for (const model::ResourcePool& pool : snapshot.pools) books.Put(pool);
  for (const Node& node : snapshot.nodes) books.Put(node);
  for (const Job& job : snapshot.jobs) books.Put(job);
  for (const Limit& limit : snapshot.limits) books.Put(limit);
  for (const Gang& gang : snapshot.gangs) books.PutBorrowed(gang);
  Scheduled scheduled{.plan = RunPass(books, snapshot.now), .waiting = {}};
  absl::flat_hash_set<model::AllocationId> started;
  for (const Assignment& assignment : scheduled.plan.assign) started.insert(assignment.gang);
  std::vector<const Gang*> waiting;
  for (const Gang& gang : snapshot.gangs) {
    if (gang.running_on.empty() && !started.contains(gang.id)) waiting.push_back(&gang);
  }
  std::sort(waiting.begin(), waiting.end(),
            [](const Gang* a, const Gang* b) { return a->id < b->id; });
  for (const Gang* gang : waiting) {
    scheduled.waiting.emplace_hint(scheduled.waiting.end(), gang->id,
                                   WhyItWaits(books, *books.FindGang(gang->id)));
  }
  return scheduled;
}

}  // namespace det::scheduler
