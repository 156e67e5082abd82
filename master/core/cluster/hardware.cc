// Runs that fail as on broken hardware, and lines of a log that a policy has an answer to.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "master/core/cluster/mirror.h"
#include "master/core/cluster/parts.h"
#include "master/core/scheduler/scheduler.h"

namespace det::cluster {
namespace {

using experiment::Allocation;
using experiment::Share;
using experiment::Trial;
using model::AgentState;

// So many runs in a row that failed as on broken hardware, and a slot gets no more.
constexpr int kMostFailures = 2;

void Quarantine(Step& step, const Trial& trial, const Allocation& a, const model::AgentId& agent,
                int slot, AgentState::SlotState& state) {
  state.quarantined = true;
  step.Reschedule();
  step.Log(trial, a.id, model::LogLevel::kError,
           absl::StrCat("slot ", slot, " of agent ", agent.value(),
                        " is in quarantine: ", state.failures,
                        " runs in a row failed there, the last with \"", state.reason,
                        "\"; once it is mended: det slot enable ", agent.value(), " ", slot));
}

void CountFailure(Step& step, const Trial& trial, const Allocation& a, const Share& share) {
  const model::AgentId& agent = share.placement.agent;
  AgentState& state =
      step.s.agent_states
          .try_emplace(agent, AgentState{.id = agent, .slots = {}, .maintenance = {}})
          .first->second;
  for (const int id : share.placement.slots) {
    AgentState::SlotState& slot = state.slots[id];
    ++slot.failures;
    slot.reason = share.suspect;
    if (slot.failures >= kMostFailures && !slot.quarantined) {
      Quarantine(step, trial, a, agent, id, slot);
    }
  }
  step.Touch(state);
}

void ForgetFailures(Step& step, const Share& share) {
  const auto state = step.s.agent_states.find(share.placement.agent);
  if (state == step.s.agent_states.end()) return;
  for (const int id : share.placement.slots) {
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
  return step.s.scheduler.CanEverRun(next).ok();
}

bool Contains(const std::vector<model::AgentId>& agents, const model::AgentId& agent) {
  return std::find(agents.begin(), agents.end(), agent) != agents.end();
}

// The next run goes elsewhere, where there is an elsewhere.
void Avoid(Step& step, const Allocation& a, Trial& trial, const model::AgentId& agent) {
  if (Contains(trial.blocked, agent) || Contains(trial.suspects, agent)) return;
  if (!CouldRunWithout(step, a, agent)) return;
  trial.suspects.push_back(agent);
  step.Touch(trial);
}

}  // namespace

void NoteHardware(Step& step, const Allocation& a, Trial& trial) {
  const bool well = a.exit_reason == model::ExitReason::kFinished ||
                    a.exit_reason == model::ExitReason::kPreempted;
  for (const Share& share : a.shares) {
    if (well) ForgetFailures(step, share);
    if (a.exit_reason != model::ExitReason::kFailed || share.suspect.empty()) continue;
    CountFailure(step, trial, a, share);
    Avoid(step, a, trial, share.placement.agent);
  }
}

void Trust(Step& step, const model::AgentId& agent) {
  for (auto& [id, trial] : step.s.trials) {
    if (std::erase(trial.suspects, agent) == 0) continue;
    step.Touch(trial);
    // The scheduler hears of it.
    const auto a =
        trial.allocation ? step.s.allocations.find(*trial.allocation) : step.s.allocations.end();
    if (a != step.s.allocations.end()) step.Touch(a->second);
  }
}

absl::StatusOr<Outcome> Apply(Step& step, const HardwareSuspected& event) {
  const auto it = step.s.allocations.find(event.allocation);
  if (it == step.s.allocations.end()) return step.Finish();
  for (Share& share : it->second.shares) {
    if (share.placement.agent != event.agent || !share.suspect.empty()) continue;
    share.suspect = event.line;
    step.Touch(it->second);
  }
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const LogPolicyMatched& event) {
  const auto it = step.s.allocations.find(event.allocation);
  if (it == step.s.allocations.end()) return step.Finish();
  const Allocation& a = it->second;
  Trial& trial = step.s.trials.at(a.trial);
  const bool runs_there = std::any_of(a.shares.begin(), a.shares.end(), [&](const Share& share) {
    return share.placement.agent == event.agent;
  });
  const bool blocked = Contains(trial.blocked, event.agent);
  if (event.exclude_node && runs_there && !blocked && !CouldRunWithout(step, a, event.agent)) {
    // It would wait for ever.
    step.Log(
        trial, a.id, model::LogLevel::kWarning,
        absl::StrCat("log policy \"", event.policy, "\" matched, but without ", event.agent.value(),
                     " the trial could not run at all: it may run there"));
  } else if (event.exclude_node && runs_there && !blocked) {
    trial.blocked.push_back(event.agent);
    step.Touch(trial);
    // The scheduler hears of it.
    step.Touch(a);
    step.Log(trial, a.id, model::LogLevel::kWarning,
             absl::StrCat("log policy \"", event.policy, "\" matched: the trial will not run on ",
                          event.agent.value(), " again"));
  }
  if (event.cancel_retries && trial.no_restart.empty()) {
    trial.no_restart = absl::StrCat("log policy \"", event.policy, "\" forbids a retry");
    step.Touch(trial);
    step.Log(trial, a.id, model::LogLevel::kWarning,
             absl::StrCat("log policy \"", event.policy,
                          "\" matched: if this run fails, the trial is not restarted"));
  }
  return step.Finish();
}

}  // namespace det::cluster
