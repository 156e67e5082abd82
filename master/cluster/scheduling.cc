#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "master/cluster/mirror.h"
#include "master/cluster/parts.h"

namespace det::cluster {
namespace {

using experiment::Allocation;
using model::AllocationState;

bool IsOpen(const Cluster::State& s, const model::Agent& agent, int slot) {
  const auto has = [&](const model::Device& device) { return device.id == slot; };
  if (std::none_of(agent.slots.begin(), agent.slots.end(), has)) return false;
  const auto state = s.agent_states.find(agent.id);
  if (state == s.agent_states.end()) return true;
  const auto of = state->second.slots.find(slot);
  return of == state->second.slots.end() || (of->second.enabled && !of->second.quarantined);
}

// Whether the placements still name free slots of agents that take work.
bool StillFits(const Cluster::State& s, const Allocation& a,
               const std::vector<model::Placement>& placements) {
  for (const model::Placement& placement : placements) {
    const auto agent = s.agents.find(placement.agent);
    if (agent == s.agents.end() || !agent->second.connected) return false;
    const auto state = s.agent_states.find(placement.agent);
    if (state != s.agent_states.end() && !state->second.enabled) return false;
    for (const int slot : placement.slots) {
      if (!IsOpen(s, agent->second, slot)) return false;
    }
    if (!s.slots.HasRoom(placement, a.fraction)) return false;
  }
  return true;
}

constexpr absl::Duration kRetry = absl::Seconds(1);

// False where the plan does not hold: to be tried again.
bool AssignSlots(Step& step, const scheduler::Assignment& assignment) {
  const auto it = step.s.allocations.find(assignment.gang);
  if (it == step.s.allocations.end() || it->second.state != AllocationState::kQueued) return true;
  Allocation& a = it->second;
  if (!StillFits(step.s, a, assignment.on)) return false;
  experiment::Trial& trial = step.s.trials.at(a.trial);
  Do(step, trial, experiment::OnAssigned(trial));
  Do(step, a, experiment::Assign(a, assignment.on, step.now));
  // What comes later in the plan must not take the same.
  step.s.slots.Put(a);
  return true;
}

// A timer that comes due is truncated to microseconds, as every event is.
absl::Time NextMicrosecond(absl::Time time) {
  const absl::Time down = absl::FromUnixMicros(absl::ToUnixMicros(time));
  return down < time ? down + absl::Microseconds(1) : time;
}

}  // namespace

absl::StatusOr<Outcome> Apply(Step& step, const ScheduleTick&) {
  for (const model::Quota& quota : Quotas(step.s)) {
    if (quota.slot_hours) step.s.scheduler.Put(MakeLimit(step.s, quota, step.now));
  }
  const scheduler::Plan plan = step.s.scheduler.Pass(step.now);
  if (step.s.queue_changed || !plan.assign.empty() || !plan.preempt.empty()) {
    step.Effect(QueueChanged{});
  }
  absl::Time look_again = plan.look_again.value_or(absl::InfiniteFuture());
  for (const scheduler::Assignment& assignment : plan.assign) {
    // Not at once: a plan that is refused again and again must not keep the loop busy.
    if (!AssignSlots(step, assignment)) look_again = std::min(look_again, step.now + kRetry);
  }
  for (const scheduler::Preemption& preemption : plan.preempt) {
    const auto victim = step.s.allocations.find(preemption.victim);
    if (victim != step.s.allocations.end()) Preempt(step, victim->second, preemption.reason);
  }
  if (look_again < absl::InfiniteFuture()) {
    step.Effect(SetScheduleTimer{NextMicrosecond(look_again)});
  }
  Outcome outcome = step.Finish();
  step.s.queue_changed = false;
  return outcome;
}

}  // namespace det::cluster
