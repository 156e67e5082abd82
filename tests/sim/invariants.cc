#include "tests/sim/invariants.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace det::sim {
namespace {

using model::AllocationState;
using model::TrialState;

absl::Status MakeViolation(const std::string& what) { return absl::InternalError(what); }

absl::Status CheckGang(const experiment::Allocation& a,
                       std::set<std::pair<model::AgentId, int>>& taken) {
  if (a.local_tasks.empty()) {
    if (a.state == AllocationState::kQueued) return absl::OkStatus();
    return MakeViolation(absl::StrCat(a.id.value(), " is not queued but has no local tasks"));
  }
  int slots = 0;
  std::set<model::AgentId> agents;
  for (const experiment::LocalTask& local_task : a.local_tasks) {
    if (!agents.insert(local_task.placement.agent).second) {
      return MakeViolation(absl::StrCat(a.id.value(), " has two local tasks on one agent"));
    }
    slots += static_cast<int>(local_task.placement.slots.size());
    if (local_task.exited) continue;
    for (const int slot : local_task.placement.slots) {
      if (taken.emplace(local_task.placement.agent, slot).second) continue;
      return MakeViolation(absl::StrCat("slot ", slot, " of ", local_task.placement.agent.value(),
                                        " is used twice, by ", a.id.value()));
    }
  }
  const bool whole = slots >= a.slots && slots <= std::max(a.slots, a.max_slots);
  if (whole && slots == a.granted) return absl::OkStatus();
  return MakeViolation(absl::StrCat(a.id.value(), " has ", slots, " slots of ", a.slots,
                                    " but reports ", a.granted));
}

absl::Status CheckTrial(const experiment::Trial& trial, const experiment::Allocation* allocation) {
  const auto broken = [&](const char* what) {
    return MakeViolation(absl::StrCat("trial ", trial.id.value(), " is ",
                                      std::string(model::ToString(trial.state)), " and ", what));
  };
  const bool queued = allocation != nullptr && allocation->state == AllocationState::kQueued;
  switch (trial.state) {
    case TrialState::kQueued:
      return queued ? absl::OkStatus() : broken("has no queued allocation");
    case TrialState::kRunning:
      if (trial.end_as) return broken("is ending");
      return allocation != nullptr && !queued ? absl::OkStatus() : broken("holds no slots");
    case TrialState::kStopping:
      if (!trial.end_as) return broken("is not ending");
      return allocation != nullptr && !queued ? absl::OkStatus() : broken("holds no slots");
    default:
      return allocation == nullptr ? absl::OkStatus() : broken("has a live allocation");
  }
}

absl::Status CheckTask(const experiment::Task& task, const experiment::Allocation* allocation) {
  const auto broken = [&](const char* what) {
    return MakeViolation(absl::StrCat("task ", task.id.value(), " is ",
                                      std::string(model::ToString(task.state)), " and ", what));
  };
  const bool queued = allocation != nullptr && allocation->state == AllocationState::kQueued;
  switch (task.state) {
    case model::TaskState::kQueued:
      return queued ? absl::OkStatus() : broken("has no queued allocation");
    case model::TaskState::kRunning:
      if (task.end_as) return broken("is ending");
      return allocation != nullptr && !queued ? absl::OkStatus() : broken("holds no slots");
    case model::TaskState::kStopping:
      if (!task.end_as) return broken("is not ending");
      return allocation != nullptr && !queued ? absl::OkStatus() : broken("holds no slots");
    default:
      return allocation == nullptr ? absl::OkStatus() : broken("has a live allocation");
  }
}

absl::Status CheckHeld(const experiment::Trial& trial, const experiment::Experiment& e) {
  const bool rests = trial.state == TrialState::kPaused;
  const bool on_its_way =
      trial.state == TrialState::kStopping && trial.end_as == TrialState::kPaused;
  if (trial.held && !rests && !on_its_way) {
    return MakeViolation(absl::StrCat("trial ", trial.id.value(), " is held and ",
                                      std::string(model::ToString(trial.state))));
  }
  if (!rests || trial.held || trial.waits_for || e.state != model::ExperimentState::kActive)
    return absl::OkStatus();
  return MakeViolation(absl::StrCat("trial ", trial.id.value(), " is paused but not held"));
}

// The active rows, and the rows that must agree with them.
struct Live {
  explicit Live(const cluster::Rows& rows) {
    for (const auto& [id, e] : rows.experiments) {
      if (!model::IsTerminal(e.state)) experiments.emplace(id, &e);
    }
    for (const auto& [id, trial] : rows.trials) {
      if (experiments.contains(trial.experiment)) trials.emplace(id, &trial);
    }
    for (const auto& [id, task] : rows.tasks) tasks.emplace(id, &task);
    for (const auto& [id, a] : rows.allocations) {
      if (a.state != AllocationState::kTerminated) allocations.push_back(&a);
    }
  }
  std::map<model::ExperimentId, const experiment::Experiment*> experiments;
  std::map<model::TrialId, const experiment::Trial*> trials;
  std::map<model::TaskId, const experiment::Task*> tasks;  // ended ones, too
  std::vector<const experiment::Allocation*> allocations;
};

// Checks that no more trials of an experiment hold slots than may run at the same time.
absl::Status CheckConcurrency(const Live& live) {
  std::map<model::ExperimentId, int64_t> running;
  for (const experiment::Allocation* a : live.allocations) {
    if (!experiment::IsTrial(*a)) continue;
    if (!a->local_tasks.empty()) ++running[live.trials.at(a->trial)->experiment];
  }
  for (const auto& [id, count] : running) {
    const int64_t limit = live.experiments.at(id)->config->searcher.max_concurrent_trials;
    if (limit == 0 || count <= limit) continue;
    return MakeViolation(absl::StrCat("experiment ", id.value(), " runs ", count,
                                      " trials; its max_concurrent_trials is ", limit));
  }
  return absl::OkStatus();
}

// Checks that the state in memory equals the row, for each kind of change whose state can be read.
struct Remembered {
  const cluster::Cluster& cluster;
  const cluster::Rows& rows;

  template <class T>
  static bool IsEqual(const T* memory, const T& row, bool over) {
    return over ? memory == nullptr : memory != nullptr && *memory == row;
  }
  bool HasEnded(model::ExperimentId id) const {
    return model::IsTerminal(rows.experiments.at(id).state);
  }
  bool operator()(const cluster::PutExperiment& put) const {
    const model::ExperimentId id = put.experiment.id;
    return IsEqual(cluster.FindExperiment(id), rows.experiments.at(id), HasEnded(id));
  }
  bool operator()(const cluster::PutTrial& put) const {
    const experiment::Trial& row = rows.trials.at(put.trial.id);
    return IsEqual(cluster.FindTrial(row.id), row, HasEnded(row.experiment));
  }
  bool operator()(const cluster::PutTask& put) const {
    const experiment::Task& row = rows.tasks.at(put.task.id);
    return IsEqual(cluster.FindTask(row.id), row, model::IsTerminal(row.state));
  }
  bool operator()(const cluster::PutAllocation& put) const {
    const experiment::Allocation& row = rows.allocations.at(put.allocation.id);
    return IsEqual(cluster.FindAllocation(row.id), row, row.state == AllocationState::kTerminated);
  }
  bool operator()(const cluster::PutAgentState& put) const {
    const auto memory = cluster.agent_states().find(put.agent.id);
    return memory == cluster.agent_states().end() || memory->second == rows.agents.at(put.agent.id);
  }
  template <class T>
  bool operator()(const T&) const {
    return true;
  }
};

// Checks that the rows on which an effect depends are committed.
struct Committed {
  const cluster::Rows& rows;

  const experiment::Allocation* Find(const model::AllocationId& id) const {
    const auto it = rows.allocations.find(id);
    return it == rows.allocations.end() ? nullptr : &it->second;
  }
  const experiment::LocalTask* FindLocalTask(const model::AllocationId& id, const model::AgentId& agent) const {
    const experiment::Allocation* a = Find(id);
    if (a == nullptr) return nullptr;
    for (const experiment::LocalTask& local_task : a->local_tasks) {
      if (local_task.placement.agent == agent) return &local_task;
    }
    return nullptr;
  }
  bool operator()(const cluster::StartTask& e) const {
    const experiment::LocalTask* local_task = FindLocalTask(e.spec.allocation, e.agent);
    return local_task != nullptr && local_task->placement.slots == e.spec.slots;
  }
  bool operator()(const cluster::StopTask& e) const {
    const experiment::Allocation* a = Find(e.allocation);
    const experiment::LocalTask* local_task = FindLocalTask(e.allocation, e.agent);
    return a == nullptr || a->state == AllocationState::kStopping ||
           a->state == AllocationState::kTerminated || local_task == nullptr || local_task->exited;
  }
  bool operator()(const cluster::AnnounceRendezvous& e) const {
    const experiment::Allocation* a = Find(e.allocation);
    if (a == nullptr || a->local_tasks.size() != e.nodes.size()) return false;
    return std::all_of(a->local_tasks.begin(), a->local_tasks.end(),
                       [](const experiment::LocalTask& local_task) { return local_task.started; });
  }
  bool operator()(const cluster::AnnouncePreemption& e) const {
    const experiment::Allocation* a = Find(e.allocation);
    return a != nullptr && !a->preemption_reason.empty();
  }
  bool operator()(const cluster::CloseAllocation& e) const {
    const experiment::Allocation* a = Find(e.allocation);
    return a != nullptr && a->state == AllocationState::kTerminated;
  }
  bool operator()(const cluster::SetDeadline& e) const { return Find(e.allocation) != nullptr; }
  bool operator()(const cluster::ScheduleSoon&) const { return true; }
  bool operator()(const cluster::SetScheduleTimer&) const { return true; }
  bool operator()(const cluster::SetCalendarTimer&) const { return true; }
  bool operator()(const cluster::QueueChanged&) const { return true; }
  bool operator()(const cluster::CollectGarbageSoon&) const { return true; }
  bool operator()(const cluster::DeliverWebhooksSoon&) const { return true; }
  bool operator()(const cluster::TaskChanged& e) const { return rows.tasks.contains(e.id); }
  bool operator()(const cluster::ExperimentChanged& e) const {
    return rows.experiments.contains(e.id);
  }
};

absl::Status CheckTrialEnd(const cluster::Rows& rows, const experiment::Trial& trial,
                           int failures) {
  const auto broken = [&](const std::string& what) {
    return MakeViolation(absl::StrCat("trial ", trial.id.value(), " ", what));
  };
  if (!model::IsTerminal(trial.state)) return broken("has not ended");
  const int max_restarts = rows.experiments.at(trial.experiment).config->max_restarts;
  if (trial.restarts > max_restarts) return broken("was restarted too often");
  if (failures > max_restarts + 1) return broken("was run again after its last restart");
  if (trial.restarts <= failures) return absl::OkStatus();
  return broken("counts restarts that no failure caused");
}

// Trials with invalid hyperparameters are replaced and do not count.
absl::Status CheckBudget(const experiment::Experiment& e, int trials, int invalid) {
  if (!model::IsTerminal(e.state)) {
    return MakeViolation(absl::StrCat("experiment ", e.id.value(), " has not ended"));
  }
  const int64_t budget = e.config->searcher.name == "single" ? 1 : e.config->searcher.max_trials;
  if (trials - invalid <= budget) return absl::OkStatus();
  return MakeViolation(absl::StrCat("experiment ", e.id.value(), " has ", trials, " trials, ",
                                    invalid, " of them invalid; its budget is ", budget));
}

// The names of the parts in which the images differ, or an empty string. The rows of a searcher are
// a snapshot and a journal, and are compared after a restore.
std::string Difference(const cluster::Image& a, const cluster::Image& b) {
  std::string text;
  const auto note = [&](bool same, const char* part) {
    if (!same) absl::StrAppend(&text, text.empty() ? "" : ", ", part);
  };
  note(a.experiments == b.experiments, "experiments");
  note(a.trials == b.trials, "trials");
  note(a.tasks == b.tasks, "tasks");
  note(a.allocations == b.allocations, "allocations");
  note(a.last_experiment == b.last_experiment, "last_experiment");
  note(a.last_trial == b.last_trial, "last_trial");
  note(a.last_submitted == b.last_submitted, "last_submitted");
  note(a.known_agents == b.known_agents, "known_agents");
  note(a.agents == b.agents, "agents");
  note(a.pools == b.pools, "pools");
  note(a.default_pools == b.default_pools, "default_pools");
  note(a.quotas == b.quotas, "quotas");
  return text;
}

}  // namespace

absl::Status CheckRows(const cluster::Rows& rows) {
  const Live live(rows);
  std::set<std::pair<model::AgentId, int>> taken;
  std::map<model::TrialId, const experiment::Allocation*> of_trial;
  std::map<model::TaskId, const experiment::Allocation*> of_task;
  for (const experiment::Allocation* allocation : live.allocations) {
    DET_RETURN_IF_ERROR(CheckGang(*allocation, taken));
    if (!experiment::IsTrial(*allocation)) {
      if (of_task.emplace(allocation->task, allocation).second) continue;
      return MakeViolation(
          absl::StrCat("task ", allocation->task.value(), " has two live allocations"));
    }
    if (of_trial.emplace(allocation->trial, allocation).second) continue;
    return MakeViolation(
        absl::StrCat("trial ", allocation->trial.value(), " has two live allocations"));
  }
  for (const auto& [id, trial] : live.trials) {
    if (trial->waits_for) {
      const auto parent = live.trials.find(*trial->waits_for);
      if (parent == live.trials.end() || parent->second->state != TrialState::kStopping) {
        return MakeViolation(
            absl::StrCat("trial ", id.value(), " waits for a trial that does not save"));
      }
    }
    DET_RETURN_IF_ERROR(CheckHeld(*trial, *live.experiments.at(trial->experiment)));
    const auto it = of_trial.find(id);
    DET_RETURN_IF_ERROR(CheckTrial(*trial, it == of_trial.end() ? nullptr : it->second));
    of_trial.erase(id);
  }
  for (const auto& [id, task] : live.tasks) {
    const auto it = of_task.find(id);
    DET_RETURN_IF_ERROR(CheckTask(*task, it == of_task.end() ? nullptr : it->second));
  }
  if (of_trial.empty()) return CheckConcurrency(live);
  return MakeViolation(absl::StrCat("an allocation of trial ", of_trial.begin()->first.value(),
                                    " has not ended but its experiment has"));
}

const model::AllocationId* GetContinuedAllocation(const cluster::Effect& effect) {
  if (const auto* start = std::get_if<cluster::StartTask>(&effect)) return &start->spec.allocation;
  if (const auto* meet = std::get_if<cluster::AnnounceRendezvous>(&effect)) {
    return &meet->allocation;
  }
  if (const auto* go = std::get_if<cluster::AnnouncePreemption>(&effect)) return &go->allocation;
  return nullptr;
}

absl::Status CheckCommitted(const cluster::Rows& rows, const cluster::Effect& effect) {
  if (std::visit(Committed{rows}, effect)) return absl::OkStatus();
  return MakeViolation(absl::StrCat("effect number ", effect.index(),
                                    " of the variant was sent before its rows were committed"));
}

absl::Status CheckEnd(const cluster::Rows& rows) {
  std::map<model::TrialId, int> failures, invalid;
  for (const auto& [id, a] : rows.allocations) {
    if (a.state != AllocationState::kTerminated) {
      return MakeViolation(absl::StrCat(id.value(), " has not ended"));
    }
    if (!experiment::IsTrial(a)) continue;
    failures[a.trial] += a.exit_reason == model::ExitReason::kFailed;
    invalid[a.trial] += a.exit_reason == model::ExitReason::kInvalidHp;
  }
  for (const auto& [id, task] : rows.tasks) {
    if (!model::IsTerminal(task.state)) {
      return MakeViolation(absl::StrCat("task ", id.value(), " has not ended"));
    }
  }
  std::map<model::ExperimentId, int> trials_of, invalid_of;
  for (const auto& [id, trial] : rows.trials) {
    DET_RETURN_IF_ERROR(CheckTrialEnd(rows, trial, failures[id]));
    ++trials_of[trial.experiment];
    invalid_of[trial.experiment] += invalid[id];
  }
  for (const auto& [id, e] : rows.experiments) {
    DET_RETURN_IF_ERROR(CheckBudget(e, trials_of[id], invalid_of[id]));
  }
  return absl::OkStatus();
}

absl::Status CheckChanges(const cluster::Cluster& cluster, const cluster::Rows& rows,
                          const std::vector<cluster::Change>& changes) {
  for (const cluster::Change& change : changes) {
    if (std::visit(Remembered{cluster, rows}, change)) continue;
    return MakeViolation(absl::StrCat("memory differs from the row of change number ",
                                      change.index(), " of the variant"));
  }
  return absl::OkStatus();
}

absl::Status CheckDurable(const cluster::Cluster& cluster, const cluster::Image& rows) {
  const cluster::Image memory = cluster.Dump();
  const std::string unlike = Difference(memory, rows);
  if (!unlike.empty()) return MakeViolation(absl::StrCat("memory differs from its rows: ", unlike));
  cluster::Cluster other(cluster::Settings{});
  DET_RETURN_IF_ERROR(other.Restore(rows));
  const cluster::Image restored = other.Dump();
  if (restored == memory) return absl::OkStatus();
  return MakeViolation(absl::StrCat("restoring the rows gives a different state in ",
                                    Difference(restored, memory),
                                    restored.searchers == memory.searchers ? "" : " (searchers)"));
}

std::string Decisions(const cluster::Rows& rows, model::ExperimentId id) {
  std::string text(model::ToString(rows.experiments.at(id).state));
  for (const auto& [trial_id, trial] : rows.trials) {
    if (trial.experiment != id) continue;
    absl::StrAppend(&text, "\ntrial ", trial.request.value(), " seed ", trial.seed, " ",
                    model::Value(trial.hparams).ToJson(), " ",
                    std::string(model::ToString(trial.state)));
  }
  const auto searcher = rows.searchers.find(id);
  if (searcher != rows.searchers.end()) {
    absl::StrAppend(&text, "\n", searcher->second.snapshot.ToJson());
  }
  return text;
}

}  // namespace det::sim
