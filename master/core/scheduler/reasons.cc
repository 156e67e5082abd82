#include "master/core/scheduler/reasons.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "master/core/scheduler/feasible.h"
#include "master/core/scheduler/limits.h"
#include "master/core/scheduler/notes.h"
#include "master/core/scheduler/words.h"

namespace det::scheduler {
namespace {

using Kind = WaitReason::Kind;

WaitReason NoAgents(const Books& books, const PoolState& pool) {
  std::vector<std::string> with_agents;
  for (const auto& [name, other] : books.pools()) {
    if (!other->nodes.empty()) with_agents.push_back(name);
  }
  return {Kind::kInfeasible,
          absl::StrCat("no agent is in resource pool \"", pool.name, "\"; ",
                       with_agents.empty()
                           ? "no agent is connected"
                           : absl::StrCat("pools with agents: ", absl::StrJoin(with_agents, ", "))),
          std::nullopt};
}

std::string Away(const PoolState& pool) {
  const auto away = std::count_if(pool.nodes.begin(), pool.nodes.end(),
                                  [&](const NodeState* node) { return !pool.IsOpen(*node); });
  if (away == 0) return "";
  return absl::StrCat("; ", away, away == 1 ? " agent is" : " agents are", " away");
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

// The limit that was closed when it was the gang's turn.
std::optional<WaitReason> ClosedLimit(const PoolState& pool, const GangState& gang) {
  const Place place = pool.notes->order->PlaceOf(gang);
  const JobState& job = *gang.job;
  for (const void* limit : {static_cast<const void*>(&job), static_cast<const void*>(job.user),
                            static_cast<const void*>(job.workspace)}) {
    const auto it = pool.notes->closed.find(limit);
    if (it == pool.notes->closed.end() || place < it->second.at) continue;
    Refusal refusal{.kind = it->second.kind};
    if (limit == &job) {
      refusal.job = &job;
    } else {
      refusal.owner = limit == job.user ? job.user : job.workspace;
    }
    return WaitReason{refusal.kind, Describe(refusal, gang, it->second.held, it->second.gangs),
                      std::nullopt};
  }
  return std::nullopt;
}

WaitReason InWords(const PoolState& pool, const GangClass& c) {
  const ClassNote& note = *c.note;
  switch (note.kind) {
    case Kind::kBehindOthers:
      return {note.kind, absl::StrCat("waits behind ", note.ahead), note.behind};
    case Kind::kMaintenance:
      return {note.kind,
              absl::StrCat(Needs(c.shape), "; the agents that are free in pool ", pool.name,
                           " go into maintenance before it would end"),
              std::nullopt};
    default:
      return {Kind::kNoCapacity, NoCapacity(pool, c), std::nullopt};
  }
}

}  // namespace

std::optional<WaitReason> WhyNever(const Books& books, const GangState& gang) {
  const PoolState& pool = *gang.pool;
  const GangClass& c = *gang.gang_class;
  if (pool.nodes.empty()) return NoAgents(books, pool);
  if (!IsBound(pool, *gang.job)) {
    return WaitReason{
        Kind::kNotBound,
        absl::StrCat("workspace ", gang.job->job.workspace, " may not use pool ", pool.name,
                     "; it serves ", absl::StrJoin(pool.config.workspaces, ", ")),
        std::nullopt};
  }
  if (c.views[kNow] != nullptr && !c.feasible) {
    return WaitReason{Kind::kInfeasible, WhyInfeasible(pool, c), std::nullopt};
  }
  if (ExceedsJob(*gang.job, c.shape)) {
    const Refusal refusal{.kind = Kind::kOverMaxSlots, .job = gang.job, .for_ever = true};
    return WaitReason{Kind::kInfeasible, Describe(refusal, gang, 0, 0), std::nullopt};
  }
  return std::nullopt;
}

WaitReason WhyItWaits(const Books& books, const GangState& gang) {
  const PoolState& pool = *gang.pool;
  if (auto never = WhyNever(books, gang)) return *std::move(never);
  if (pool.notes->order == nullptr || !gang.gang_class->note) {
    return {Kind::kNoCapacity, "has not been looked at yet", std::nullopt};
  }
  if (!pool.notes->closed.empty()) {
    if (auto closed = ClosedLimit(pool, gang)) return *std::move(closed);
  }
  const bool looked_at = gang.gang_class->failed || gang.gang_class->note->free > 0;
  const auto refusal = RefusedBy(gang);
  if (refusal && (refusal->for_ever || !looked_at)) {
    const Micro held = refusal->job != nullptr ? refusal->job->held : refusal->owner->held;
    return {refusal->kind, Describe(*refusal, gang, held, gang.job->gangs), std::nullopt};
  }
  const auto& awaiting = pool.notes->awaiting;
  const auto awaited = awaiting.empty() ? awaiting.end() : awaiting.find(gang.gang->id);
  if (awaited != awaiting.end()) {
    const auto id = [](std::string* out, const model::AllocationId& a) { out->append(a.value()); };
    return {Kind::kAwaitingPreemption,
            absl::StrCat("waits until ", absl::StrJoin(awaited->second, ", ", id),
                         awaited->second.size() == 1 ? " has left" : " have left"),
            std::nullopt};
  }
  const ClassNote& note = *gang.gang_class->note;
  if (!note.reason) note.reason = InWords(pool, *gang.gang_class);
  return *note.reason;
}

}  // namespace det::scheduler
