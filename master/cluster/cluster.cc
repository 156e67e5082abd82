#include "master/cluster/cluster.h"

#include <utility>
#include <variant>

#include "master/cluster/state.h"

namespace det::cluster {

Cluster::Cluster(Settings settings) : state_(std::make_unique<State>()) {
  state_->settings = std::move(settings);
}

Cluster::~Cluster() = default;
Cluster::Cluster(Cluster&&) noexcept = default;
Cluster& Cluster::operator=(Cluster&&) noexcept = default;

absl::StatusOr<Outcome> Cluster::Apply(const Event& event, absl::Time now) {
  Step step(*state_, now);
  return std::visit([&](const auto& kind) { return cluster::Apply(step, kind); }, event);
}

const experiment::Experiment* Cluster::FindExperiment(model::ExperimentId id) const {
  const auto it = state_->experiments.find(id);
  return it == state_->experiments.end() ? nullptr : &it->second.experiment;
}

const searcher::Searcher* Cluster::FindSearcher(model::ExperimentId id) const {
  const auto it = state_->experiments.find(id);
  return it == state_->experiments.end() ? nullptr : &it->second.searcher;
}

const experiment::Trial* Cluster::FindTrial(model::TrialId id) const {
  const auto it = state_->trials.find(id);
  return it == state_->trials.end() ? nullptr : &it->second;
}

const experiment::Allocation* Cluster::FindAllocation(const model::AllocationId& id) const {
  const auto it = state_->allocations.find(id);
  return it == state_->allocations.end() ? nullptr : &it->second;
}

const std::map<model::AgentId, model::Agent>& Cluster::agents() const { return state_->agents; }

std::vector<const experiment::Allocation*> Cluster::live_allocations() const {
  std::vector<const experiment::Allocation*> live;
  for (const auto& [id, allocation] : state_->allocations) live.push_back(&allocation);
  return live;
}

std::vector<const experiment::Experiment*> Cluster::live_experiments() const {
  std::vector<const experiment::Experiment*> live;
  for (const auto& [id, entry] : state_->experiments) live.push_back(&entry.experiment);
  return live;
}

const scheduler::WaitReason* Cluster::FindWaitReason(const model::AllocationId& id) const {
  const auto it = state_->waiting.find(id);
  return it == state_->waiting.end() ? nullptr : &it->second;
}

}  // namespace det::cluster
