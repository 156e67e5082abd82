#include "master/core/scheduler/scheduler.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "master/core/model/names.h"
#include "master/core/scheduler/books.h"
#include "master/core/scheduler/duties.h"
#include "master/core/scheduler/feasible.h"
#include "master/core/scheduler/holdings.h"
#include "master/core/scheduler/notes.h"
#include "master/core/scheduler/order.h"
#include "master/core/scheduler/pass.h"
#include "master/core/scheduler/reasons.h"

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
  placements.reserve(gang.holds.size());
  for (const Hold& hold : gang.holds) {
    model::Placement placement{hold.node->id, {}};
    placement.slots.reserve(hold.slots.size());
    for (const int slot : hold.slots) {
      placement.slots.push_back(hold.node->slots[static_cast<size_t>(slot)].id);
    }
    placements.push_back(std::move(placement));
  }
  return placements;
}

// What a pass found, as the caller sees it; the state is as it was before.
Plan TakeBack(const Changes& changes) {
  Plan plan;
  plan.assign.reserve(changes.started.size());
  for (GangState* gang : changes.started) {
    plan.assign.push_back({gang->gang->id, PlacementsOf(*gang), gang->backfilled});
  }
  // The last first: it is the last of its job's and of its nodes', too.
  const std::vector<GangState*> back(changes.started.rbegin(), changes.started.rend());
  VacateAll(back);
  for (GangState* gang : back) {
    gang->fresh = false;
    --gang->job->fresh;
  }
  for (const Asked& asked : changes.asked) {
    Preemption& preemption = plan.preempt.emplace_back();
    preemption.victim = asked.victim->gang->id;
    if (asked.in_favour_of != nullptr) preemption.in_favour_of = asked.in_favour_of->gang->id;
    preemption.reason = asked.reason;
    SetLeaving(*asked.victim, false);
  }
  if (changes.look_again != absl::InfiniteFuture()) plan.look_again = changes.look_again;
  return plan;
}

// `started`: whom the plan starts.
Plan RunPass(Books& books, absl::Time now, std::vector<GangState*>& started) {
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
  Plan plan = TakeBack(changes);
  started = std::move(changes.started);
  return plan;
}

struct Waiting {
  uint64_t prefix = 0;  // of its id: spares most looks at the rest
  const GangState* gang = nullptr;
  friend bool operator<(const Waiting& a, const Waiting& b) {
    return a.prefix != b.prefix ? a.prefix < b.prefix : a.gang->gang->id < b.gang->gang->id;
  }
};

uint64_t PrefixOf(const std::string& id) {
  uint64_t prefix = 0;
  for (size_t i = 0; i < 8; ++i) {
    prefix = prefix << 8 | (i < id.size() ? static_cast<unsigned char>(id[i]) : 0);
  }
  return prefix;
}

WaitReasons ReasonsBut(const Books& books, const std::vector<GangState*>& started) {
  const absl::flat_hash_set<const GangState*> starts(started.begin(), started.end());
  std::vector<Waiting> waiting;
  books.ForEachWaiting([&](const GangState& gang) {
    if (!starts.contains(&gang)) waiting.push_back({PrefixOf(gang.gang->id.value()), &gang});
  });
  std::sort(waiting.begin(), waiting.end());
  WaitReasons reasons;
  for (const Waiting& each : waiting) {
    reasons.emplace_hint(reasons.end(), each.gang->gang->id, WhyItWaits(books, *each.gang));
  }
  return reasons;
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

Plan Scheduler::Pass(absl::Time now) {
  std::vector<GangState*> started;
  return RunPass(impl_->books, now, started);
}

std::optional<WaitReason> Scheduler::ReasonOf(const model::AllocationId& id) const {
  const GangState* gang = impl_->books.FindGang(id);
  if (gang == nullptr || gang->running) return std::nullopt;
  return WhyItWaits(impl_->books, *gang);
}

std::vector<model::AllocationId> Scheduler::Queue(const std::string& resource_pool) const {
  const PoolState* pool = impl_->books.FindPool(resource_pool);
  std::vector<std::pair<Place, const GangState*>> waiting;
  if (pool == nullptr || pool->notes->order == nullptr) return {};
  impl_->books.ForEachWaiting([&](const GangState& gang) {
    if (gang.pool == pool) waiting.emplace_back(pool->notes->order->PlaceOf(gang), &gang);
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
  for (const Node& node : snapshot.nodes) books.PutBorrowed(node);
  for (const Job& job : snapshot.jobs) books.Put(job);
  for (const Limit& limit : snapshot.limits) books.Put(limit);
  for (const Gang& gang : snapshot.gangs) books.PutBorrowed(gang);
  std::vector<GangState*> started;
  Scheduled scheduled{.plan = RunPass(books, snapshot.now, started), .waiting = {}};
  scheduled.waiting = ReasonsBut(books, started);
  return scheduled;
}

}  // namespace det::scheduler
