#include "master/cluster/testing/rows.h"

#include <algorithm>
#include <variant>

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
  for (const auto& [id, allocation] : allocations) {
    image.last_submitted = std::max(image.last_submitted, allocation.submitted);
    if (allocation.state == model::AllocationState::kTerminated) continue;
    image.allocations.push_back(allocation);
  }
  return image;
}

}  // namespace det::cluster
