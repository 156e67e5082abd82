#include "master/core/scheduler/limits.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "master/core/scheduler/shape.h"
#include "master/core/scheduler/words.h"

namespace det::scheduler {
namespace {

using Kind = WaitReason::Kind;

Micro Needed(const GangState& gang) {
  const Shape& shape = gang.gang_class->shape;
  return shape.slots * shape.fraction;
}

std::optional<Refusal> RefusedByOwner(const Owner* owner, Micro needed) {
  if (owner == nullptr || !owner->limit || needed == 0) return std::nullopt;
  const model::Quota& quota = owner->limit->quota;
  Refusal refusal{.kind = Kind::kOverQuota, .owner = owner};
  if (quota.max_slots && owner->held + needed > MicroOf(*quota.max_slots)) {
    refusal.for_ever = needed > MicroOf(*quota.max_slots);
    return refusal;
  }
  if (quota.slot_hours && owner->limit->slot_hours_used >= *quota.slot_hours) return refusal;
  return std::nullopt;
}

void Restrict(const std::optional<double>& limit, Micro held, Micro& most) {
  if (limit) most = std::min(most, MicroOf(*limit) - held);
}

const char* NameOf(const Owner& owner) {
  return owner.limit->quota.scope == model::Quota::Scope::kUser ? "user" : "workspace";
}

}  // namespace

std::optional<Refusal> RefusedBy(const GangState& gang) {
  const JobState& job = *gang.job;
  const Micro needed = Needed(gang);
  if (needed > 0 && job.job.max_slots && job.held + needed > MicroOf(*job.job.max_slots)) {
    return Refusal{
        .kind = Kind::kOverMaxSlots, .job = &job, .for_ever = needed > MicroOf(*job.job.max_slots)};
  }
  // One that lets go of its slots still counts: its successor waits until it has.
  if (job.job.max_gangs && job.gangs >= *job.job.max_gangs) {
    return Refusal{.kind = Kind::kOverMaxTrials, .job = &job};
  }
  if (auto refusal = RefusedByOwner(job.user, needed)) return refusal;
  return RefusedByOwner(job.workspace, needed);
}

int SlotsWithinLimits(const GangState& gang) {
  const JobState& job = *gang.job;
  const Shape& shape = gang.gang_class->shape;
  Micro most = shape.max_slots * kWhole;
  Restrict(job.job.max_slots, job.held, most);
  for (const Owner* owner : {job.user, job.workspace}) {
    if (owner != nullptr && owner->limit)
      Restrict(owner->limit->quota.max_slots, owner->held, most);
  }
  return std::max(shape.slots, static_cast<int>(most / kWhole));
}

std::string Describe(const Refusal& refusal, const GangState& gang, Micro held, int64_t gangs) {
  const std::string needs = Needs(gang.gang_class->shape);
  if (refusal.kind == Kind::kOverMaxTrials) {
    return absl::StrCat("its experiment runs ", gangs, " trials, its max_concurrent_trials");
  }
  if (refusal.kind == Kind::kOverMaxSlots) {
    if (refusal.for_ever) {
      return absl::StrCat(needs, "; its max_slots is ", *refusal.job->job.max_slots);
    }
    return absl::StrCat(needs, "; its experiment holds ", SlotsOf(held), " of max_slots ",
                        *refusal.job->job.max_slots);
  }
  if (!refusal.owner->limit) return absl::StrCat(needs, "; a quota that was lifted held it back");
  const Limit& limit = *refusal.owner->limit;
  const std::string whose = absl::StrCat(NameOf(*refusal.owner), " ", refusal.owner->name);
  if (limit.quota.slot_hours && limit.slot_hours_used >= *limit.quota.slot_hours) {
    return absl::StrCat(whose, " has used ", limit.slot_hours_used, " of its ",
                        *limit.quota.slot_hours, " slot hours of this month");
  }
  if (refusal.for_ever) {
    return absl::StrCat(needs, "; the quota of ", whose, " is ", limit.quota.max_slots.value_or(0),
                        " slots at once");
  }
  return absl::StrCat(needs, "; ", whose, " holds ", SlotsOf(held), " of a quota of ",
                      limit.quota.max_slots.value_or(0), " slots");
}

}  // namespace det::scheduler
