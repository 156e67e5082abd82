// Suspected hardware failures of slots, and log policies that match a line.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "master/core/cluster/handlers.h"
#include "master/core/cluster/scheduler_input.h"
#include "master/core/scheduler/scheduler.h"

namespace det::cluster {
namespace {

using experiment::Allocation;
using experiment::LocalTask;
using experiment::Trial;
using model::AgentState;

// A slot is quarantined after this many consecutive runs with a suspected hardware failure.
constexpr int kMaxFailures = 2;

void Quarantine(Step& step, const Allocation& a, const model::AgentId& agent, int slot,
                AgentState::SlotState& state) {
  state.quarantined = true;
  step.Reschedule();
  step.Log(a, model::LogLevel::kError,
           absl::StrCat("slot ", slot, " of agent ", agent.value(),
                        " is in quarantine: ", state.failures,
                        " runs in a row failed there, the last with \"", state.reason,
                        "\"; repair it, then run: det slot enable ", agent.value(), " ", slot));
}

void CountFailure(Step& step, const Allocation& a, const LocalTask& local_task) {
  const model::AgentId& agent = local_task.placement.agent;
  AgentState& state =
      step.s.agent_states
          .try_emplace(agent, AgentState{.id = agent, .slots = {}, .maintenance = {}})
          .first->second;
  for (const int id : local_task.placement.slots) {
    AgentState::SlotState& slot = state.slots[id];
    ++slot.failures;
    slot.reason = local_task.suspect;
    if (slot.failures >= kMaxFailures && !slot.quarantined) {
      Quarantine(step, a, agent, id, slot);
    }
  }
  step.Touch(state);
}

void ForgetFailures(Step& step, const LocalTask& local_task) {
  const auto state = step.s.agent_states.find(local_task.placement.agent);
  if (state == step.s.agent_states.end()) return;
  for (const int id : local_task.placement.slots) {
    const auto slot = state->second.slots.find(id);
    if (slot == state->second.slots.end() || slot->second.failures == 0) continue;
    slot->second.failures = 0;
    if (!slot->second.quarantined) slot->second.reason.clear();
    step.Touch(state->second);
  }
}

bool CouldRunWithout(const Step& step, const Allocation& a, const model::AgentId& agent) {
  scheduler::Gang next = MakeGang(step.s, a);
  next.running_on.clear();
  next.blocked.push_back(agent);
  return step.s.scheduler.CheckCanRun(next).ok();
}

bool Contains(const std::vector<model::AgentId>& agents, const model::AgentId& agent) {
  return std::find(agents.begin(), agents.end(), agent) != agents.end();
}

// Makes the next attempt use another agent, if the trial can run without this one.
void AvoidAgent(Step& step, const Allocation& a, Trial& trial, const model::AgentId& agent) {
  if (Contains(trial.blocked, agent) || Contains(trial.suspects, agent)) return;
  if (!CouldRunWithout(step, a, agent)) return;
  trial.suspects.push_back(agent);
  step.Touch(trial);
}

}  // namespace

void RecordHardwareOutcome(Step& step, const Allocation& a) {
  const bool well = a.exit_reason == model::ExitReason::kFinished ||
                    a.exit_reason == model::ExitReason::kPreempted;
  for (const LocalTask& local_task : a.local_tasks) {
    if (well) ForgetFailures(step, local_task);
    if (a.exit_reason != model::ExitReason::kFailed || local_task.suspect.empty()) continue;
    CountFailure(step, a, local_task);
    if (!experiment::IsTrial(a)) continue;
    AvoidAgent(step, a, step.s.trials.at(a.trial), local_task.placement.agent);
  }
}

void UnblockAgent(Step& step, const model::AgentId& agent) {
  for (auto& [id, trial] : step.s.trials) {
    if (std::erase(trial.suspects, agent) == 0) continue;
    step.Touch(trial);
    // Updates the scheduler.
    const auto a =
        trial.allocation ? step.s.allocations.find(*trial.allocation) : step.s.allocations.end();
    if (a != step.s.allocations.end()) step.Touch(a->second);
  }
}

absl::StatusOr<Outcome> Apply(Step& step, const HardwareSuspected& event) {
  const auto it = step.s.allocations.find(event.allocation);
  if (it == step.s.allocations.end()) return step.Finish();
  for (LocalTask& local_task : it->second.local_tasks) {
    if (local_task.placement.agent != event.agent || !local_task.suspect.empty()) continue;
    local_task.suspect = event.line;
    step.Touch(it->second);
  }
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const LogPolicyMatched& event) {
  const auto it = step.s.allocations.find(event.allocation);
  // Only experiments have log policies.
  if (it == step.s.allocations.end() || !experiment::IsTrial(it->second)) return step.Finish();
  const Allocation& a = it->second;
  Trial& trial = step.s.trials.at(a.trial);
  if (trial.log_policy != event.policy) {
    trial.log_policy = event.policy;
    step.Touch(trial);
  }
  const bool runs_there = std::any_of(
      a.local_tasks.begin(), a.local_tasks.end(),
      [&](const LocalTask& local_task) { return local_task.placement.agent == event.agent; });
  const bool blocked = Contains(trial.blocked, event.agent);
  if (event.exclude_node && runs_there && !blocked) {
    // If no other agent is suitable, the trial waits for one: the policy names bad agents.
    trial.blocked.push_back(event.agent);
    step.Touch(trial);
    // Updates the scheduler.
    step.Touch(a);
    step.Log(trial, a.id, model::LogLevel::kWarning,
             // Existing scripts look for the part from the parenthesis on.
             absl::StrCat("log policy \"", event.policy, "\" matched: the trial will not run on ",
                          event.agent.value(), " again (log '", event.line, "' matched regex ",
                          event.pattern, ") therefore will not schedule on ", event.agent.value()));
  }
  if (event.cancel_retries && trial.no_restart.empty()) {
    // Existing scripts look for the second part in the log.
    trial.no_restart = absl::StrCat("log policy \"", event.policy, "\" forbids a retry; ",
                                    "trial failed and matched logs to a don't retry policy");
    step.Touch(trial);
    step.Log(trial, a.id, model::LogLevel::kWarning,
             absl::StrCat("log policy \"", event.policy,
                          "\" matched: if this attempt fails, the trial is not restarted"));
  }
  return step.Finish();
}

}  // namespace det::cluster
