#include "master/core/scheduler/scheduler.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "master/core/model/names.h"
#include "master/core/scheduler/feasible.h"
#include "master/core/scheduler/forced_preemption.h"
#include "master/core/scheduler/holdings.h"
#include "master/core/scheduler/order.h"
#include "master/core/scheduler/pass.h"
#include "master/core/scheduler/reasons.h"
#include "master/core/scheduler/registry.h"
#include "master/core/scheduler/wait_notes.h"

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

std::vector<model::Placement> ToPlacements(const GangState& gang) {
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

// Converts the changes of a pass to a plan and reverts them.
Plan RevertChanges(const Changes& changes) {
  Plan plan;
  plan.assign.reserve(changes.started.size());
  for (GangState* gang : changes.started) {
    plan.assign.push_back({gang->gang->id, ToPlacements(*gang), gang->backfilled});
  }
  // In reverse order: the last gang is also the last of its job and of its nodes.
  const std::vector<GangState*> back(changes.started.rbegin(), changes.started.rend());
  VacateAll(back);
  for (GangState* gang : back) {
    gang->fresh = false;
    --gang->job->fresh;
  }
  for (const PreemptionRequest& request : changes.preemptions) {
    Preemption& preemption = plan.preempt.emplace_back();
    preemption.victim = request.victim->gang->id;
    if (request.preemptor != nullptr) preemption.preemptor = request.preemptor->gang->id;
    preemption.reason = request.reason;
    SetTerminating(*request.victim, false);
  }
  if (changes.look_again != absl::InfiniteFuture()) plan.look_again = changes.look_again;
  return plan;
}

// `started` are the gangs that the plan starts.
Plan RunPass(Registry& registry, absl::Time now, std::vector<GangState*>& started) {
  Changes changes;
  ReleaseAboveLimits(registry, changes);
  for (const auto& [name, pool] : registry.pools()) {
    pool->Prepare(now);
    DrainForMaintenance(*pool, changes);
  }
  const absl::Time next_window = changes.look_again;
  // Repeats until nothing changes: a start may exhaust a limit, so that a sibling no longer blocks
  // others.
  for (bool changed = true; changed;) {
    changed = false;
    changes.look_again = next_window;
    for (const auto& [name, pool] : registry.pools()) {
      if (PoolPass(registry, *pool, changes).Run()) changed = true;
    }
  }
  for (const auto& [name, pool] : registry.pools()) GrowElastic(*pool, changes);
  Plan plan = RevertChanges(changes);
  started = std::move(changes.started);
  return plan;
}

struct Waiting {
  uint64_t prefix = 0;  // of its id; decides most comparisons
  const GangState* gang = nullptr;
  friend bool operator<(const Waiting& a, const Waiting& b) {
    return a.prefix != b.prefix ? a.prefix < b.prefix : a.gang->gang->id < b.gang->gang->id;
  }
};

uint64_t GetPrefix(const std::string& id) {
  uint64_t prefix = 0;
  for (size_t i = 0; i < 8; ++i) {
    prefix = prefix << 8 | (i < id.size() ? static_cast<unsigned char>(id[i]) : 0);
  }
  return prefix;
}

WaitReasons CollectReasons(const Registry& registry, const std::vector<GangState*>& started) {
  const absl::flat_hash_set<const GangState*> starts(started.begin(), started.end());
  std::vector<Waiting> waiting;
  registry.ForEachWaiting([&](const GangState& gang) {
    if (!starts.contains(&gang)) waiting.push_back({GetPrefix(gang.gang->id.value()), &gang});
  });
  std::sort(waiting.begin(), waiting.end());
  WaitReasons reasons;
  for (const Waiting& each : waiting) {
    reasons.emplace_hint(reasons.end(), each.gang->gang->id,
                         ComputeWaitReason(registry, *each.gang));
  }
  return reasons;
}

}  // namespace

std::string_view ToString(WaitReason::Kind kind) { return model::GetName(kKindNames, kind); }

class Scheduler::Impl {
 public:
  Registry registry;
};

Scheduler::Scheduler() : impl_(std::make_unique<Impl>()) {}
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;
Scheduler::~Scheduler() = default;

void Scheduler::Put(model::ResourcePool pool) { impl_->registry.Put(std::move(pool)); }
void Scheduler::RemovePool(const std::string& name) { impl_->registry.RemovePool(name); }
void Scheduler::Put(Node node) { impl_->registry.Put(std::move(node)); }
void Scheduler::RemoveNode(const model::AgentId& id) { impl_->registry.RemoveNode(id); }
void Scheduler::Put(Job job) { impl_->registry.Put(std::move(job)); }
void Scheduler::RemoveJob(const model::JobId& id) { impl_->registry.RemoveJob(id); }
void Scheduler::Put(Gang gang) { impl_->registry.Put(std::move(gang)); }
void Scheduler::RemoveGang(const model::AllocationId& id) { impl_->registry.RemoveGang(id); }
void Scheduler::Put(Limit limit) { impl_->registry.Put(std::move(limit)); }
void Scheduler::RemoveLimit(model::Quota::Scope scope, const std::string& name) {
  impl_->registry.RemoveLimit(scope, name);
}

Plan Scheduler::Pass(absl::Time now) {
  std::vector<GangState*> started;
  return RunPass(impl_->registry, now, started);
}

std::optional<WaitReason> Scheduler::GetWaitReason(const model::AllocationId& id) const {
  const GangState* gang = impl_->registry.FindGang(id);
  if (gang == nullptr || gang->running) return std::nullopt;
  return ComputeWaitReason(impl_->registry, *gang);
}

std::vector<model::AllocationId> Scheduler::Queue(const std::string& resource_pool) const {
  const PoolState* pool = impl_->registry.FindPool(resource_pool);
  std::vector<std::pair<Place, const GangState*>> waiting;
  if (pool == nullptr || pool->notes->order == nullptr) return {};
  impl_->registry.ForEachWaiting([&](const GangState& gang) {
    if (gang.pool == pool) waiting.emplace_back(pool->notes->order->GetPlace(gang), &gang);
  });
  std::sort(waiting.begin(), waiting.end());
  std::vector<model::AllocationId> ids;
  for (const auto& [place, gang] : waiting) ids.push_back(gang->gang->id);
  return ids;
}

absl::Status Scheduler::CheckCanRun(const Gang& gang) const {
  return impl_->registry.CheckCanRun(gang);
}

Snapshot Scheduler::Dump(absl::Time now) const { return impl_->registry.Dump(now); }

Scheduled Schedule(const Snapshot& snapshot) {
  Registry registry;
  registry.Reserve(snapshot.gangs.size(), snapshot.jobs.size());
  for (const model::ResourcePool& pool : snapshot.pools) registry.Put(pool);
  for (const Node& node : snapshot.nodes) registry.PutBorrowed(node);
  for (const Job& job : snapshot.jobs) registry.Put(job);
  for (const Limit& limit : snapshot.limits) registry.Put(limit);
  for (const Gang& gang : snapshot.gangs) registry.PutBorrowed(gang);
  std::vector<GangState*> started;
  Scheduled scheduled{.plan = RunPass(registry, snapshot.now, started), .waiting = {}};
  scheduled.waiting = CollectReasons(registry, started);
  return scheduled;
}

}  // namespace det::scheduler
