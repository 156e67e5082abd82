#include "master/core/cluster/slot_time.h"

#include <algorithm>

#include "absl/time/civil_time.h"

namespace det::cluster {
namespace {

using Scope = model::Quota::Scope;

constexpr double kSecondsInAnHour = 3600;

}  // namespace

absl::Time MonthOf(absl::Time time) {
  return absl::FromCivil(absl::ToCivilMonth(time, absl::UTCTimeZone()), absl::UTCTimeZone());
}

absl::Time NextMonthOf(absl::Time time) {
  return absl::FromCivil(absl::ToCivilMonth(time, absl::UTCTimeZone()) + 1, absl::UTCTimeZone());
}

SlotTime::SlotTime(const Usage& usage) : month_(std::max(usage.month, absl::UnixEpoch())) {
  for (const auto& [name, used] : usage.users) sums_[{Scope::kUser, name}].ended = used;
  for (const auto& [name, used] : usage.workspaces) sums_[{Scope::kWorkspace, name}].ended = used;
}

double SlotTime::Seconds(absl::Time time) const {
  return std::max(absl::ToDoubleSeconds(time - month_), 0.0);
}

void SlotTime::Add(const Run& run, double sign) {
  for (Sum* sum : {&sums_[{Scope::kUser, run.user}], &sums_[{Scope::kWorkspace, run.workspace}]}) {
    sum->slots += sign * run.slots;
    sum->before += sign * run.slots * Seconds(run.started);
  }
}

void SlotTime::Roll(absl::Time time) {
  const absl::Time month = MonthOf(time);
  if (month <= month_) return;
  month_ = month;
  sums_.clear();
  for (const auto& [id, run] : runs_) Add(run, 1);
}

void SlotTime::Begin(const model::AllocationId& id, const std::string& user,
                     const std::string& workspace, double slots, absl::Time started) {
  Roll(started);
  const auto [it, added] = runs_.try_emplace(id, Run{user, workspace, slots, started});
  if (added) Add(it->second, 1);
}

void SlotTime::Move(const model::AllocationId& id, const std::string& workspace) {
  const auto it = runs_.find(id);
  if (it == runs_.end()) return;
  Add(it->second, -1);
  it->second.workspace = workspace;
  Add(it->second, 1);
}

void SlotTime::End(const model::AllocationId& id, absl::Time ended) {
  Roll(ended);
  const auto it = runs_.find(id);
  if (it == runs_.end()) return;
  const Run& run = it->second;
  const double used = run.slots * (Seconds(ended) - Seconds(run.started));
  Add(run, -1);
  sums_[{Scope::kUser, run.user}].ended += used;
  sums_[{Scope::kWorkspace, run.workspace}].ended += used;
  runs_.erase(it);
}

double SlotTime::Hours(Scope scope, const std::string& name, absl::Time now) const {
  const absl::Time month = MonthOf(now);
  if (month > month_) {
    // Nothing has happened in it yet: only what runs counts, from its beginning.
    double slots = 0;
    const auto it = sums_.find({scope, name});
    if (it != sums_.end()) slots = it->second.slots;
    return slots * absl::ToDoubleSeconds(now - month) / kSecondsInAnHour;
  }
  const auto it = sums_.find({scope, name});
  return it == sums_.end() ? 0 : std::max(it->second.At(Seconds(now)), 0.0) / kSecondsInAnHour;
}

}  // namespace det::cluster
