#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/core/cluster/handlers.h"
#include "master/core/cluster/scheduler_input.h"
#include "master/core/searcher/journal.h"

namespace det::cluster {
namespace {

// Adds agents that registered before as disconnected. So are agents without a row that have an
// allocation: they registered with a master version that stored no agents.
void AddAbsentAgents(Cluster::State& s, std::vector<model::Agent> known) {
  for (model::Agent& agent : known) {
    agent.connected = false;
    const model::AgentId id = agent.id;
    s.agents.emplace(id, std::move(agent));
  }
  for (const auto& [id, allocation] : s.allocations) {
    for (const experiment::LocalTask& local_task : allocation.local_tasks) {
      if (local_task.exited || s.agents.contains(local_task.placement.agent)) continue;
      model::Agent agent;
      agent.id = local_task.placement.agent;
      agent.connected = false;
      agent.registered_at = allocation.started_at.value_or(allocation.queued_at);
      s.agents.emplace(agent.id, std::move(agent));
    }
  }
}

// Replays the next row of the journal. The operations of the searcher were applied before; returns
// the requests of created trials, to check that their rows exist.
absl::StatusOr<std::vector<model::RequestId>> Replay(Entry& entry, const AddSearcherEvents& row) {
  const auto damaged = [&](const std::string& what) {
    return absl::InternalError(
        absl::StrCat("the searcher's journal of experiment ", row.experiment.value(), " ", what));
  };
  if (row.sequence != ++entry.searcher_sequence) {
    return damaged(
        absl::StrCat("continues with step ", row.sequence, ", not with ", entry.searcher_sequence));
  }
  if (row.events.AsList() == nullptr)
    return damaged("contains a value that is not a list of events");
  std::vector<model::RequestId> requested;
  for (const model::Value& value : *row.events.AsList()) {
    const absl::StatusOr<searcher::Event> event = searcher::EventFromValue(value);
    if (!event.ok()) return damaged(std::string(event.status().message()));
    for (const searcher::Operation& operation : entry.searcher.Handle(*event)) {
      const auto* create = std::get_if<searcher::CreateTrial>(&operation);
      if (create != nullptr) requested.push_back(create->request);
    }
    ++entry.journaled;
  }
  return requested;
}

absl::Status AddExperiment(Cluster::State& s, experiment::Experiment experiment,
                           const std::map<model::ExperimentId, PutSearcher>& searchers) {
  const model::ExperimentId id = experiment.id;
  const auto row = searchers.find(id);
  if (row == searchers.end()) {
    return absl::InternalError(absl::StrCat("experiment ", id.value(), " has no searcher row"));
  }
  DET_ASSIGN_OR_RETURN(searcher::Searcher searcher,
                       searcher::Searcher::Restore(*experiment.config, row->second.snapshot));
  const model::ExperimentState notified_state = experiment.state;
  s.experiments.emplace(id, Entry{.experiment = std::move(experiment),
                                  .searcher = std::move(searcher),
                                  .searcher_sequence = row->second.sequence,
                                  .is_new = false,
                                  .notified_state = notified_state,
                                  .trials = {},
                                  .waiting = {},
                                  .warned = {}});
  return absl::OkStatus();
}

absl::Status AddTrial(Cluster::State& s, experiment::Trial trial) {
  const auto entry = s.experiments.find(trial.experiment);
  if (entry == s.experiments.end()) {
    return absl::InternalError(absl::StrCat("trial ", trial.id.value(), " belongs to experiment ",
                                            trial.experiment.value(), ", which does not exist"));
  }
  entry->second.trials.emplace(trial.request, trial.id);
  if (trial.waits_for) entry->second.waiting.insert(trial.id);
  if (!model::IsTerminal(trial.state)) {
    entry->second.searcher.SetTrialProgress(trial.request, trial.progress);
  }
  s.trials.emplace(trial.id, std::move(trial));
  return absl::OkStatus();
}

// Replays the journal before adding the trials: the progress of a trial refers to the current state
// of the searcher.
absl::Status AddTrials(Cluster::State& s, std::vector<experiment::Trial> trials,
                       const std::vector<AddSearcherEvents>& journal) {
  std::map<model::ExperimentId, std::vector<model::RequestId>> requested;
  for (const AddSearcherEvents& row : journal) {
    const auto entry = s.experiments.find(row.experiment);
    if (entry == s.experiments.end()) continue;
    DET_ASSIGN_OR_RETURN(const std::vector<model::RequestId> more, Replay(entry->second, row));
    requested[row.experiment].insert(requested[row.experiment].end(), more.begin(), more.end());
  }
  for (experiment::Trial& trial : trials) DET_RETURN_IF_ERROR(AddTrial(s, std::move(trial)));
  for (const auto& [id, requests] : requested) {
    for (const model::RequestId& request : requests) {
      if (s.experiments.at(id).trials.contains(request)) continue;
      return absl::InternalError(absl::StrCat("the searcher of experiment ", id.value(),
                                              " requested trial ", request.value(),
                                              ", which does not exist"));
    }
  }
  return absl::OkStatus();
}

absl::Status AddAllocation(Cluster::State& s, experiment::Allocation allocation) {
  if (!experiment::IsTrial(allocation)) {
    if (!s.tasks.contains(allocation.task)) {
      return absl::InternalError(absl::StrCat("allocation ", allocation.id.value(),
                                              " belongs to task ", allocation.task.value(),
                                              ", which does not exist"));
    }
  } else if (!s.trials.contains(allocation.trial)) {
    return absl::InternalError(absl::StrCat("allocation ", allocation.id.value(),
                                            " belongs to trial ", allocation.trial.value(),
                                            ", which does not exist"));
  }
  const model::AllocationId id = allocation.id;
  s.allocations.emplace(id, std::move(allocation));
  return absl::OkStatus();
}

}  // namespace

absl::Status Cluster::Restore(Image image) {
  auto fresh = std::make_unique<State>();
  fresh->settings = state_->settings;
  fresh->last_experiment = image.last_experiment;
  fresh->last_trial = image.last_trial;
  fresh->last_submitted = image.last_submitted;
  for (experiment::Experiment& experiment : image.experiments) {
    DET_RETURN_IF_ERROR(AddExperiment(*fresh, std::move(experiment), image.searchers));
  }
  DET_RETURN_IF_ERROR(AddTrials(*fresh, std::move(image.trials), image.searcher_events));
  for (experiment::Task& task : image.tasks) {
    const model::TaskId id = task.id;
    fresh->tasks.emplace(id, std::move(task));
  }
  for (experiment::Allocation& allocation : image.allocations) {
    DET_RETURN_IF_ERROR(AddAllocation(*fresh, std::move(allocation)));
  }
  AddAbsentAgents(*fresh, std::move(image.known_agents));
  for (model::AgentState& agent : image.agents) {
    const model::AgentId id = agent.id;
    fresh->agent_states.emplace(id, std::move(agent));
  }
  for (model::ResourcePool& pool : image.pools) {
    const std::string name = pool.name;
    fresh->pools.emplace(name, std::move(pool));
  }
  fresh->default_pools = std::move(image.default_pools);
  for (model::Quota& quota : image.quotas) {
    const auto key = std::pair(quota.scope, quota.name);
    fresh->quotas.emplace(key, std::move(quota));
  }
  DeriveState(*fresh, image.usage);
  state_ = std::move(fresh);
  return absl::OkStatus();
}

Image Cluster::Dump() const {
  Image image;
  for (const auto& [id, entry] : state_->experiments) {
    image.experiments.push_back(entry.experiment);
    image.searchers.emplace(id,
                            PutSearcher{id, entry.searcher_sequence, entry.searcher.Snapshot()});
  }
  for (const auto& [id, trial] : state_->trials) image.trials.push_back(trial);
  for (const auto& [id, task] : state_->tasks) image.tasks.push_back(task);
  for (const auto& [id, allocation] : state_->allocations) image.allocations.push_back(allocation);
  image.last_experiment = state_->last_experiment;
  image.last_trial = state_->last_trial;
  image.last_submitted = state_->last_submitted;
  for (const auto& [id, agent] : state_->agents) {
    if (HasRow(agent)) image.known_agents.push_back(ToRow(agent));
  }
  for (const auto& [id, agent] : state_->agent_states) image.agents.push_back(agent);
  for (const auto& [name, pool] : state_->pools) image.pools.push_back(pool);
  image.default_pools = state_->default_pools;
  for (const auto& [key, quota] : state_->quotas) image.quotas.push_back(quota);
  return image;
}

}  // namespace det::cluster
