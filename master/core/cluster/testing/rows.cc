#include "master/core/cluster/testing/rows.h"

#include <algorithm>
#include <memory>
#include <variant>

#include "absl/time/time.h"

namespace det::cluster {

void Rows::Apply(const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    std::visit([this](const auto& row) { Put(row); }, change);
  }
}

void Rows::Put(const PutSearcher& row) {
  searchers[row.experiment] = row;
  std::erase_if(searcher_events, [&](const auto& event) {
    return event.first.first == row.experiment && event.first.second <= row.sequence;
  });
}

void Rows::Put(const PutRetention& row) {
  const auto it = experiments.find(row.experiment);
  if (it == experiments.end()) return;
  experiment::Experiment& e = it->second;
  model::ExperimentConfig config = *e.config;
  experiment::SetRetentionPolicy(config.checkpoint_storage, row.policy);
  e.config = std::make_shared<const model::ExperimentConfig>(std::move(config));
}

Image Rows::Load() const {
  Image image;
  for (const auto& [id, experiment] : experiments) {
    image.last_experiment = std::max(image.last_experiment, id.value());
    if (model::IsTerminal(experiment.state)) continue;
    image.experiments.push_back(experiment);
    image.searchers.emplace(id, searchers.at(id));
  }
  for (const auto& [key, row] : searcher_events) {
    if (image.searchers.contains(key.first)) image.searcher_events.push_back(row);
  }
  const auto live = [&](model::TrialId trial) {
    return !model::IsTerminal(experiments.at(trials.at(trial).experiment).state);
  };
  for (const auto& [id, trial] : trials) {
    image.last_trial = std::max(image.last_trial, id.value());
    if (live(id)) image.trials.push_back(trial);
  }
  for (const auto& [id, task] : tasks) {
    if (!model::IsTerminal(task.state)) image.tasks.push_back(task);
  }
  for (const auto& [id, allocation] : allocations) {
    image.last_submitted = std::max(image.last_submitted, allocation.submitted);
    if (allocation.state == model::AllocationState::kTerminated) continue;
    image.allocations.push_back(allocation);
  }
  for (const auto& [id, agent] : known_agents) image.known_agents.push_back(agent);
  for (const auto& [id, agent] : agents) image.agents.push_back(agent);
  for (const auto& [name, pool] : pools) image.pools.push_back(pool);
  image.default_pools = default_pools;
  for (const auto& [key, quota] : quotas) image.quotas.push_back(quota);
  image.usage = MakeUsage();
  return image;
}

Usage Rows::MakeUsage() const {
  absl::Time newest = absl::UnixEpoch();
  for (const auto& [id, a] : allocations) newest = std::max(newest, a.ended_at.value_or(newest));
  Usage usage;
  usage.month =
      absl::FromCivil(absl::ToCivilMonth(newest, absl::UTCTimeZone()), absl::UTCTimeZone());
  for (const auto& [id, a] : allocations) {
    if (!a.ended_at || !a.started_at || *a.ended_at <= usage.month) continue;
    const double used = a.granted * a.fraction *
                        absl::ToDoubleSeconds(*a.ended_at - std::max(*a.started_at, usage.month));
    if (!experiment::IsTrial(a)) {
      const experiment::Task& task = tasks.at(a.task);
      usage.users[task.owner_name] += used;
      usage.workspaces[task.workspace_name] += used;
      continue;
    }
    const experiment::Experiment& e = experiments.at(trials.at(a.trial).experiment);
    usage.users[experiment::OwnerName(e)] += used;
    usage.workspaces[e.config->workspace] += used;
  }
  return usage;
}

}  // namespace det::cluster
