// Enabling and disabling of agents and slots, and maintenance windows.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/core/cluster/handlers.h"
#include "master/core/cluster/scheduler_input.h"

namespace det::cluster {
namespace {

using experiment::Allocation;
using model::AgentState;
using model::AllocationState;

absl::Status CheckKnown(const Cluster::State& s, const model::AgentId& id) {
  if (s.agents.contains(id) || s.agent_states.contains(id)) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("agent ", id.value(), " not found"));
}

absl::Status CheckKnown(const Cluster::State& s, const model::AgentId& id, int slot) {
  DET_RETURN_IF_ERROR(CheckKnown(s, id));
  const auto agent = s.agents.find(id);
  if (agent != s.agents.end()) {
    for (const model::Device& device : agent->second.slots) {
      if (device.id == slot) return absl::OkStatus();
    }
  }
  const auto state = s.agent_states.find(id);
  if (state != s.agent_states.end() && state->second.slots.contains(slot)) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("agent ", id.value(), " has no slot ", slot));
}

AgentState& GetOrCreateState(Step& step, const model::AgentId& id) {
  return step.s.agent_states.try_emplace(id, AgentState{.id = id, .slots = {}, .maintenance = {}})
      .first->second;
}

// Stores the state and requests a scheduling pass if it changed.
void Save(Step& step, AgentState after) {
  AgentState& state = GetOrCreateState(step, after.id);
  const bool same = state == after;
  state = std::move(after);
  step.Touch(state);
  if (!same) step.Replan();
}

// Unblocks the agent for all trials once none of its slots has a suspected failure.
void SaveEnabled(Step& step, AgentState after) {
  const bool sound = std::all_of(after.slots.begin(), after.slots.end(), [](const auto& slot) {
    return slot.second.failures == 0 && !slot.second.quarantined;
  });
  if (sound) UnblockAgent(step, after.id);
  Save(step, std::move(after));
}

bool HasLocalTaskOn(const Allocation& a, const model::AgentId& agent, std::optional<int> slot) {
  for (const experiment::LocalTask& local_task : a.local_tasks) {
    if (local_task.placement.agent != agent || local_task.exited) continue;
    const std::vector<int>& slots = local_task.placement.slots;
    return !slot || std::find(slots.begin(), slots.end(), *slot) != slots.end();
  }
  return false;
}

// Calls `act` for every allocation with a live local task there. `act` may end the allocation.
template <class Act>
void ForEachOn(Step& step, const model::AgentId& agent, std::optional<int> slot, const Act& act) {
  for (const model::AllocationId& id : step.s.slots.On(agent)) {
    const auto it = step.s.allocations.find(id);
    if (it != step.s.allocations.end() && HasLocalTaskOn(it->second, agent, slot)) act(it->second);
  }
}

void StopOn(Step& step, const model::AgentId& agent, std::optional<int> slot,
            const std::string& why) {
  ForEachOn(step, agent, slot, [&](Allocation& a) {
    if (a.state == AllocationState::kStopping) return;
    step.Log(a, model::LogLevel::kWarning,
             experiment::IsTrial(a)
                 ? absl::StrCat("run ", a.run_id, " is stopped and queued again: ", why)
                 : absl::StrCat("the task is stopped: ", why));
    ApplyActions(step, a, experiment::Stop(a, step.s.settings.stop_grace, step.now, why));
  });
}

// Stores the maintenance windows without past ones. The scheduler preempts what runs in a window.
void KeepMaintenance(Step& step, AgentState after) {
  std::erase_if(after.maintenance,
                [&](const model::Maintenance& window) { return window.end <= step.now; });
  Save(step, std::move(after));
}

}  // namespace

absl::StatusOr<Outcome> Apply(Step& step, const EnableAgent& event) {
  DET_RETURN_IF_ERROR(CheckKnown(step.s, event.id));
  AgentState after = GetOrCreateState(step, event.id);
  after.enabled = true;
  after.draining = false;
  // Enabling an agent resets the failure counts of its slots, except of quarantined ones, which are
  // enabled one by one.
  for (auto& [slot, state] : after.slots) {
    if (state.quarantined) continue;
    state.failures = 0;
    state.reason.clear();
  }
  SaveEnabled(step, std::move(after));
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const DisableAgent& event) {
  DET_RETURN_IF_ERROR(CheckKnown(step.s, event.id));
  AgentState after = GetOrCreateState(step, event.id);
  after.enabled = false;
  after.draining = event.drain;
  Save(step, std::move(after));
  if (!event.drain) {
    StopOn(step, event.id, std::nullopt, absl::StrCat("agent ", event.id.value(), " was disabled"));
  }
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const EnableSlot& event) {
  DET_RETURN_IF_ERROR(CheckKnown(step.s, event.agent, event.slot));
  AgentState after = GetOrCreateState(step, event.agent);
  after.slots[event.slot] = {};
  SaveEnabled(step, std::move(after));
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const DisableSlot& event) {
  DET_RETURN_IF_ERROR(CheckKnown(step.s, event.agent, event.slot));
  AgentState after = GetOrCreateState(step, event.agent);
  after.slots[event.slot].enabled = false;
  Save(step, std::move(after));
  if (!event.drain) {
    StopOn(step, event.agent, event.slot,
           absl::StrCat("slot ", event.slot, " of agent ", event.agent.value(), " was disabled"));
  }
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const SetMaintenance& event) {
  DET_RETURN_IF_ERROR(CheckKnown(step.s, event.agent));
  for (const model::Maintenance& window : event.windows) {
    if (window.begin < window.end) continue;
    return absl::InvalidArgumentError(absl::StrCat("a maintenance window of agent ",
                                                   event.agent.value(), " ends before it begins"));
  }
  AgentState after = GetOrCreateState(step, event.agent);
  after.maintenance = event.windows;
  std::stable_sort(after.maintenance.begin(), after.maintenance.end(),
                   [](const auto& a, const auto& b) { return a.begin < b.begin; });
  KeepMaintenance(step, std::move(after));
  SetCalendar(step);
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const CalendarTick&) {
  // Iterates over copies, because KeepMaintenance replaces the states.
  for (const auto& [id, state] : std::map(step.s.agent_states)) {
    if (!state.maintenance.empty()) KeepMaintenance(step, state);
  }
  for (const model::Quota& quota : Quotas(step.s)) {
    if (quota.slot_hours) step.Replan();
  }
  SetCalendar(step);
  return step.Finish();
}

std::string DescribeMaintenance(const Cluster::State& s, const Allocation& a, absl::Time now) {
  for (const experiment::LocalTask& local_task : a.local_tasks) {
    const auto state = s.agent_states.find(local_task.placement.agent);
    if (local_task.exited || state == s.agent_states.end()) continue;
    for (const model::Maintenance& window : state->second.maintenance) {
      if (window.begin > now || window.end <= now) continue;
      return absl::StrCat("agent ", state->first.value(), " is in maintenance until ",
                          absl::FormatTime("%Y-%m-%d %H:%M UTC", window.end, absl::UTCTimeZone()),
                          window.note.empty() ? "" : ": ", window.note);
    }
  }
  return "";
}

void SetCalendar(Step& step) {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [id, state] : step.s.agent_states) {
    for (const model::Maintenance& window : state.maintenance) {
      if (window.end > step.now) next = std::min(next, window.end);
    }
  }
  for (const model::Quota& quota : Quotas(step.s)) {
    if (quota.slot_hours) next = std::min(next, GetNextMonthStart(step.now));
  }
  if (next != absl::InfiniteFuture()) step.Effect(SetCalendarTimer{next});
}

}  // namespace det::cluster
