#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "master/core/cluster/handlers.h"
#include "master/core/cluster/scheduler_input.h"

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

// Whether the slots of the placements are still free, on agents that accept work.
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
// Commands are sent after the commit of their tick. A large plan is applied in several ticks, so
// that neither its own commands nor later events wait long.
constexpr int kMaxDecisionsPerTick = 24;
// The rest of a plan is discarded after this time, because priorities may have changed since.
constexpr absl::Duration kMaxPlanAge = absl::Seconds(1);

// Returns false if the assignment no longer fits and must be planned again.
bool AssignSlots(Step& step, const scheduler::Assignment& assignment) {
  const auto it = step.s.allocations.find(assignment.gang);
  if (it == step.s.allocations.end() || it->second.state != AllocationState::kQueued) return true;
  Allocation& a = it->second;
  if (!StillFits(step.s, a, assignment.on)) return false;
  if (experiment::IsTrial(a)) {
    experiment::Trial& trial = step.s.trials.at(a.trial);
    ApplyActions(step, trial, experiment::OnAssigned(trial));
  } else {
    experiment::Task& task = step.s.tasks.at(a.task);
    ApplyActions(step, task, experiment::OnAssigned(task));
  }
  ApplyActions(step, a, experiment::Assign(a, assignment.on, step.now));
  // Later assignments of the plan must not take the same slots.
  step.s.slots.Put(a);
  if (assignment.backfilled) step.s.backfilled.insert(a.id);
  return true;
}

// The time of an event, timers included, is truncated to microseconds.
absl::Time NextMicrosecond(absl::Time time) {
  const absl::Time down = absl::FromUnixMicros(absl::ToUnixMicros(time));
  return down < time ? down + absl::Microseconds(1) : time;
}

// Returns the reason of a preemption. The scheduler's text for maintenance lacks the note and the
// end of the window.
std::string GetPreemptionReason(const Step& step, const scheduler::Preemption& preemption) {
  const Allocation& a = step.s.allocations.at(preemption.victim);
  const std::string maintenance =
      preemption.preemptor ? "" : DescribeMaintenance(step.s, a, step.now);
  return maintenance.empty() ? preemption.reason : maintenance;
}

// Runs a scheduling pass and returns when to run the next one.
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

// Applies the next part of the plan, in order, and returns when to run the next pass.
absl::Time ApplyNext(Step& step, OpenPlan& plan) {
  absl::Time look_again = absl::InfiniteFuture();
  int left = kMaxDecisionsPerTick;
  for (; left > 0 && !plan.assign.empty(); --left) {
    // Delayed: an assignment that fails repeatedly must not keep the loop busy.
    if (!AssignSlots(step, plan.assign.front())) look_again = step.now + kRetry;
    plan.assign.pop_front();
  }
  for (; left > 0 && !plan.preempt.empty(); --left) {
    const scheduler::Preemption& preemption = plan.preempt.front();
    const auto victim = step.s.allocations.find(preemption.victim);
    if (victim != step.s.allocations.end())
      Preempt(step, victim->second, GetPreemptionReason(step, preemption));
    plan.preempt.pop_front();
  }
  return look_again;
}

}  // namespace

absl::StatusOr<Outcome> Apply(Step& step, const ScheduleTick&) {
  OpenPlan& plan = step.s.plan;
  const bool continues = !plan.done() && step.now - plan.made <= kMaxPlanAge;
  absl::Time look_again = continues ? absl::InfiniteFuture() : MakePlan(step);
  if (step.s.queue_changed || !plan.done()) step.Effect(QueueChanged{});
  look_again = std::min(look_again, ApplyNext(step, plan));
  if (look_again < absl::InfiniteFuture()) {
    step.Effect(SetScheduleTimer{NextMicrosecond(look_again)});
  }
  // Also after the last part: events that arrived meanwhile are not planned yet.
  if (continues || !plan.done()) step.Effect(ScheduleSoon{});
  Outcome outcome = step.Finish();
  step.s.queue_changed = false;
  return outcome;
}

}  // namespace det::cluster
