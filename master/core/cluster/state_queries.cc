#include "master/core/cluster/state_queries.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"

namespace det::cluster {

const model::ResourcePool* FindPool(const Cluster::State& s, const std::string& name) {
  const auto it = s.pools.find(name);
  if (it != s.pools.end()) return &it->second;
  for (const model::ResourcePool& pool : s.settings.pools) {
    if (pool.name == name) return &pool;
  }
  return nullptr;
}

const std::string& DefaultComputePool(const Cluster::State& s) {
  return s.default_pools.compute ? *s.default_pools.compute : s.settings.default_compute_pool;
}

const std::string& DefaultAuxPool(const Cluster::State& s) {
  return s.default_pools.aux ? *s.default_pools.aux : s.settings.default_aux_pool;
}

std::vector<model::Quota> Quotas(const Cluster::State& s) {
  auto quotas = s.quotas;
  for (const model::Quota& quota : s.settings.quotas) {
    quotas.emplace(std::pair(quota.scope, quota.name), quota);
  }
  std::vector<model::Quota> all;
  for (auto& [key, quota] : quotas) all.push_back(std::move(quota));
  return all;
}

bool HasAgents(const Cluster::State& s, const std::string& pool) {
  return std::any_of(s.agents.begin(), s.agents.end(),
                     [&](const auto& agent) { return agent.second.resource_pool == pool; });
}

absl::Duration GetRemainingRunTime(const model::ExperimentConfig& config,
                                   const experiment::Trial& trial) {
  if (!config.resources.max_run_time) return absl::InfiniteDuration();
  return std::max(absl::Seconds(*config.resources.max_run_time) - trial.run_time,
                  absl::ZeroDuration());
}

absl::Duration GetReleaseLeadTime(const Cluster::State& s, const model::ExperimentConfig& config) {
  if (!config.resources.max_run_time) return absl::ZeroDuration();
  return std::min(absl::Seconds(config.preemption_timeout_seconds) + s.settings.stop_grace,
                  absl::Seconds(*config.resources.max_run_time) / 8);
}

absl::Duration GetRemainingWorkTime(const Cluster::State& s, const experiment::Trial& trial) {
  const model::ExperimentConfig& config = *s.experiments.at(trial.experiment).experiment.config;
  return GetRemainingRunTime(config, trial) - GetReleaseLeadTime(s, config);
}

absl::Time GetRunTimeEnd(const Cluster::State& s, const experiment::Allocation& a) {
  if (!a.started_at) return absl::InfiniteFuture();
  const experiment::Trial& trial = s.trials.at(a.trial);
  return *a.started_at +
         GetRemainingRunTime(*s.experiments.at(trial.experiment).experiment.config, trial);
}

}  // namespace det::cluster
