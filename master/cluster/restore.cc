#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/cluster/state.h"

namespace det::cluster {
namespace {

// Agents are known again when they register; until then those that hold work are only away.
void AddAbsentAgents(Cluster::State& s) {
  for (const auto& [id, allocation] : s.allocations) {
    for (const experiment::Share& share : allocation.shares) {
      if (share.exited || s.agents.contains(share.placement.agent)) continue;
      model::Agent agent;
      agent.id = share.placement.agent;
      agent.connected = false;
      agent.registered_at = *allocation.started_at;
      s.agents.emplace(agent.id, std::move(agent));
    }
  }
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
  s.experiments.emplace(id, Entry{.experiment = std::move(experiment),
                                  .searcher = std::move(searcher),
                                  .searcher_sequence = row->second.sequence,
                                  .trials = {}});
  return absl::OkStatus();
}

absl::Status AddTrial(Cluster::State& s, experiment::Trial trial) {
  const auto entry = s.experiments.find(trial.experiment);
  if (entry == s.experiments.end()) {
    return absl::InternalError(absl::StrCat("trial ", trial.id.value(), " belongs to experiment ",
                                            trial.experiment.value(), ", which is not there"));
  }
  entry->second.trials.emplace(trial.request, trial.id);
  if (!model::IsTerminal(trial.state)) {
    entry->second.searcher.SetTrialProgress(trial.request, trial.progress);
  }
  s.trials.emplace(trial.id, std::move(trial));
  return absl::OkStatus();
}

absl::Status AddAllocation(Cluster::State& s, experiment::Allocation allocation) {
  if (!s.trials.contains(allocation.trial)) {
    return absl::InternalError(absl::StrCat("allocation ", allocation.id.value(),
                                            " belongs to trial ", allocation.trial.value(),
                                            ", which is not there"));
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
  for (experiment::Trial& trial : image.trials) {
    DET_RETURN_IF_ERROR(AddTrial(*fresh, std::move(trial)));
  }
  for (experiment::Allocation& allocation : image.allocations) {
    DET_RETURN_IF_ERROR(AddAllocation(*fresh, std::move(allocation)));
  }
  AddAbsentAgents(*fresh);
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
  for (const auto& [id, allocation] : state_->allocations) image.allocations.push_back(allocation);
  image.last_experiment = state_->last_experiment;
  image.last_trial = state_->last_trial;
  image.last_submitted = state_->last_submitted;
  return image;
}

}  // namespace det::cluster
