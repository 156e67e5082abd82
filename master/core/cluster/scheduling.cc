#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "master/core/cluster/mirror.h"
#include "master/core/cluster/parts.h"

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
// Orders leave with the commit of their tick: a plan of thousands is done in so many ticks that
// none of them keeps its orders, and who comes behind it, waiting for long.
constexpr int kMostOfATick = 24;
// What is left of a plan after this time is planned again: something else may matter by now.
constexpr absl::Duration kPlanHolds = absl::Seconds(1);

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
  if (assignment.backfilled) step.s.backfilled.insert(a.id);
  return true;
}

// A timer that comes due is truncated to microseconds, as every event is.
absl::Time NextMicrosecond(absl::Time time) {
  const absl::Time down = absl::FromUnixMicros(absl::ToUnixMicros(time));
  return down < time ? down + absl::Microseconds(1) : time;
}

// Of maintenance the scheduler knows neither the note nor, in its text, the end.
std::string WhyAsked(const Step& step, const scheduler::Preemption& preemption) {
  const Allocation& a = step.s.allocations.at(preemption.victim);
  const std::string maintenance = preemption.in_favour_of ? "" : MaintenanceOf(step.s, a, step.now);
  return maintenance.empty() ? preemption.reason : maintenance;
}

// A pass; gives when to look again.
absl::Time MakePlan(Step& step) {
  for (const model::Quota& quota : Quotas(step.s)) {
    if (quota.slot_hours) step.s.scheduler.Put(MakeLimit(step.s, quota, step.now));
  }
  scheduler::Plan plan = step.s.scheduler.Pass(step.now);
  step.s.plan = {.assign = {std::make_move_iterator(plan.assign.begin()),
                            std::make_move_iterator(plan.assign.end())},
                 .preempt = {std::make_move_iterator(plan.preempt.begin()),
                             std::make_move_iterator(plan.preempt.end())},
                 .made = step.now};
  return plan.look_again.value_or(absl::InfiniteFuture());
}

// Does the next part of the plan, in its order; gives when to look again.
absl::Time DoNext(Step& step, OpenPlan& plan) {
  absl::Time look_again = absl::InfiniteFuture();
  int left = kMostOfATick;
  for (; left > 0 && !plan.assign.empty(); --left) {
    // Not at once: a plan that is refused again and again must not keep the loop busy.
    if (!AssignSlots(step, plan.assign.front())) look_again = step.now + kRetry;
    plan.assign.pop_front();
  }
  for (; left > 0 && !plan.preempt.empty(); --left) {
    const scheduler::Preemption& preemption = plan.preempt.front();
    const auto victim = step.s.allocations.find(preemption.victim);
    if (victim != step.s.allocations.end())
      Preempt(step, victim->second, WhyAsked(step, preemption));
    plan.preempt.pop_front();
  }
  return look_again;
}

}  // namespace

absl::StatusOr<Outcome> Apply(Step& step, const ScheduleTick&) {
  OpenPlan& plan = step.s.plan;
  const bool goes_on = !plan.done() && step.now - plan.made <= kPlanHolds;
  absl::Time look_again = goes_on ? absl::InfiniteFuture() : MakePlan(step);
  if (step.s.queue_changed || !plan.done()) step.Effect(QueueChanged{});
  look_again = std::min(look_again, DoNext(step, plan));
  if (look_again < absl::InfiniteFuture()) {
    step.Effect(SetScheduleTimer{NextMicrosecond(look_again)});
  }
  // After the last part too: what happened meanwhile has not been looked at.
  if (goes_on || !plan.done()) step.Effect(ScheduleSoon{});
  Outcome outcome = step.Finish();
  step.s.queue_changed = false;
  return outcome;
}

}  // namespace det::cluster
