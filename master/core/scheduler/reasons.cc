#include "master/core/scheduler/reasons.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "master/core/scheduler/feasible.h"
#include "master/core/scheduler/limits.h"
#include "master/core/scheduler/reason_text.h"
#include "master/core/scheduler/wait_notes.h"

namespace det::scheduler {
namespace {

using Kind = WaitReason::Kind;

WaitReason NoAgents(const Registry& registry, const PoolState& pool) {
  std::vector<std::string> with_agents;
  for (const auto& [name, other] : registry.pools()) {
    if (!other->nodes.empty()) with_agents.push_back(name);
  }
  return {Kind::kInfeasible,
          absl::StrCat("resource pool \"", pool.name, "\" has no agents; ",
                       with_agents.empty()
                           ? "no agent is connected"
                           : absl::StrCat("pools with agents: ", absl::StrJoin(with_agents, ", "))),
          std::nullopt};
}

std::string Away(const PoolState& pool) {
  const auto away = std::count_if(pool.nodes.begin(), pool.nodes.end(),
                                  [&](const NodeState* node) { return !pool.IsOpen(*node); });
  if (away == 0) return "";
  return absl::StrCat("; ", away, away == 1 ? " agent is" : " agents are", " disconnected");
}

std::string NoCapacity(const PoolState& pool, const GangClass& c) {
  const std::string needs = Needs(c.shape);
  if (c.shape.slots == 0) return absl::StrCat(needs, " of pool ", pool.name, Away(pool));
  if (c.shape.single_node && c.shape.slots > 1) {
    return absl::StrCat(needs, " on one agent; at most ", c.note->largest_free,
                        " are free on one of pool ", pool.name, Away(pool));
  }
  return absl::StrCat(needs, "; ", c.note->free, " of ", c.view(kNow).total_capacity(),
                      " are free in pool ", pool.name, Away(pool));
}

// Returns the limit that was exhausted when it was the gang's turn.
std::optional<WaitReason> ClosedLimit(const PoolState& pool, const GangState& gang) {
  const Place place = pool.notes->order->GetPlace(gang);
  const JobState& job = *gang.job;
  for (const void* limit : {static_cast<const void*>(&job), static_cast<const void*>(job.user),
                            static_cast<const void*>(job.workspace)}) {
    const auto it = pool.notes->closed.find(limit);
    if (it == pool.notes->closed.end() || place < it->second.at) continue;
    ExceededLimit exceeded{.kind = it->second.kind};
    if (limit == &job) {
      exceeded.job = &job;
    } else {
      exceeded.owner = limit == job.user ? job.user : job.workspace;
    }
    return WaitReason{exceeded.kind, Describe(exceeded, gang, it->second.held, it->second.gangs),
                      std::nullopt};
  }
  return std::nullopt;
}

WaitReason MakeReason(const PoolState& pool, const GangClass& c) {
  const ClassNote& note = *c.note;
  switch (note.kind) {
    case Kind::kBehindOthers:
      return {note.kind, absl::StrCat("waits behind ", note.ahead), note.behind};
    case Kind::kMaintenance:
      return {note.kind,
              absl::StrCat(Needs(c.shape), "; the free agents of pool ", pool.name,
                           " enter maintenance before it would end"),
              std::nullopt};
    default:
      return {Kind::kNoCapacity, NoCapacity(pool, c), std::nullopt};
  }
}

}  // namespace

std::optional<WaitReason> ComputePermanentReason(const Registry& registry, const GangState& gang) {
  const PoolState& pool = *gang.pool;
  const GangClass& c = *gang.gang_class;
  if (pool.nodes.empty()) return NoAgents(registry, pool);
  if (!IsBound(pool, *gang.job)) {
    return WaitReason{
        Kind::kNotBound,
        absl::StrCat("workspace ", gang.job->job.workspace, " may not use pool ", pool.name,
                     "; the pool is bound to ", absl::StrJoin(pool.config.workspaces, ", ")),
        std::nullopt};
  }
  if (c.views[kNow] != nullptr && !c.feasible) {
    return WaitReason{Kind::kInfeasible, DescribeInfeasible(pool, c), std::nullopt};
  }
  if (ExceedsJob(*gang.job, c.shape)) {
    const ExceededLimit exceeded{.kind = Kind::kOverMaxSlots, .job = gang.job, .permanent = true};
    return WaitReason{Kind::kInfeasible, Describe(exceeded, gang, 0, 0), std::nullopt};
  }
  return std::nullopt;
}

WaitReason ComputeWaitReason(const Registry& registry, const GangState& gang) {
  const PoolState& pool = *gang.pool;
  if (auto never = ComputePermanentReason(registry, gang)) return *std::move(never);
  if (pool.notes->order == nullptr || !gang.gang_class->note) {
    return {Kind::kNoCapacity, "has not been considered by the scheduler yet", std::nullopt};
  }
  if (!pool.notes->closed.empty()) {
    if (auto closed = ClosedLimit(pool, gang)) return *std::move(closed);
  }
  const bool looked_at = gang.gang_class->failed || gang.gang_class->note->free > 0;
  const auto exceeded = FindExceededLimit(gang);
  if (exceeded && (exceeded->permanent || !looked_at)) {
    const Micro held = exceeded->job != nullptr ? exceeded->job->held : exceeded->owner->held;
    return {exceeded->kind, Describe(*exceeded, gang, held, gang.job->gangs), std::nullopt};
  }
  const auto& awaiting = pool.notes->awaiting;
  const auto awaited = awaiting.empty() ? awaiting.end() : awaiting.find(gang.gang->id);
  if (awaited != awaiting.end()) {
    const auto id = [](std::string* out, const model::AllocationId& a) { out->append(a.value()); };
    return {
        Kind::kAwaitingPreemption,
        absl::StrCat("waits for ", absl::StrJoin(awaited->second, ", ", id), " to release slots"),
        std::nullopt};
  }
  const ClassNote& note = *gang.gang_class->note;
  if (!note.reason) note.reason = MakeReason(pool, *gang.gang_class);
  return *note.reason;
}

}  // namespace det::scheduler
