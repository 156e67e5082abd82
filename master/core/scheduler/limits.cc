#include "master/core/scheduler/limits.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "master/core/scheduler/reason_text.h"
#include "master/core/scheduler/shape.h"

namespace det::scheduler {
namespace {

using Kind = WaitReason::Kind;

Micro Needed(const GangState& gang) {
  const Shape& shape = gang.gang_class->shape;
  return shape.slots * shape.fraction;
}

std::optional<ExceededLimit> FindExceededQuota(const Owner* owner, Micro needed) {
  if (owner == nullptr || !owner->limit || needed == 0) return std::nullopt;
  const model::Quota& quota = owner->limit->quota;
  ExceededLimit exceeded{.kind = Kind::kOverQuota, .owner = owner};
  if (quota.max_slots && owner->held + needed > ToMicro(*quota.max_slots)) {
    exceeded.permanent = needed > ToMicro(*quota.max_slots);
    return exceeded;
  }
  if (quota.slot_hours && owner->limit->slot_hours_used >= *quota.slot_hours) return exceeded;
  return std::nullopt;
}

void Restrict(const std::optional<double>& limit, Micro held, Micro& most) {
  if (limit) most = std::min(most, ToMicro(*limit) - held);
}

const char* GetOwnerName(const Owner& owner) {
  return owner.limit->quota.scope == model::Quota::Scope::kUser ? "user" : "workspace";
}

}  // namespace

std::optional<ExceededLimit> FindExceededLimit(const GangState& gang) {
  const JobState& job = *gang.job;
  const Micro needed = Needed(gang);
  if (needed > 0 && job.job.max_slots && job.held + needed > ToMicro(*job.job.max_slots)) {
    return ExceededLimit{.kind = Kind::kOverMaxSlots,
                         .job = &job,
                         .permanent = needed > ToMicro(*job.job.max_slots)};
  }
  // A terminating gang still counts: the next one waits until it has exited.
  if (job.job.max_gangs && job.gangs >= *job.job.max_gangs) {
    return ExceededLimit{.kind = Kind::kOverMaxTrials, .job = &job};
  }
  if (auto exceeded = FindExceededQuota(job.user, needed)) return exceeded;
  return FindExceededQuota(job.workspace, needed);
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

std::string Describe(const ExceededLimit& exceeded, const GangState& gang, Micro held,
                     int64_t gangs) {
  const std::string needs = Needs(gang.gang_class->shape);
  if (exceeded.kind == Kind::kOverMaxTrials) {
    return absl::StrCat("its experiment runs ", gangs, gangs == 1 ? " trial" : " trials",
                        ", its max_concurrent_trials");
  }
  if (exceeded.kind == Kind::kOverMaxSlots) {
    if (exceeded.permanent) {
      return absl::StrCat(needs, "; its max_slots is ", *exceeded.job->job.max_slots);
    }
    return absl::StrCat(needs, "; its experiment holds ", FormatMicroSlots(held), " of max_slots ",
                        *exceeded.job->job.max_slots);
  }
  if (!exceeded.owner->limit)
    return absl::StrCat(needs, "; a quota held it back that was removed since");
  const Limit& limit = *exceeded.owner->limit;
  const std::string whose = absl::StrCat(GetOwnerName(*exceeded.owner), " ", exceeded.owner->name);
  if (limit.quota.slot_hours && limit.slot_hours_used >= *limit.quota.slot_hours) {
    return absl::StrCat(whose, " has used ", limit.slot_hours_used, " of its ",
                        *limit.quota.slot_hours, " slot hours of this month");
  }
  if (exceeded.permanent) {
    return absl::StrCat(needs, "; the quota of ", whose, " is ",
                        Slots(limit.quota.max_slots.value_or(0)), " at once");
  }
  return absl::StrCat(needs, "; ", whose, " holds ", FormatMicroSlots(held), " of a quota of ",
                      Slots(limit.quota.max_slots.value_or(0)));
}

}  // namespace det::scheduler
