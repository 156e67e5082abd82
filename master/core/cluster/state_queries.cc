#include "master/core/cluster/state_queries.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "master/core/model/id_text.h"

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

QueueMember GetMember(const experiment::Experiment& e) {
  return {.job = e.job,
          .place = &e.queue,
          .resources = &e.config->resources,
          .user = experiment::OwnerName(e),
          .workspace = e.config->workspace,
          .experiment = &e};
}

QueueMember GetMember(const experiment::Task& task) {
  return {.job = experiment::GetJob(task),
          .place = &task.queue,
          .resources = &task.definition->resources,
          .user = task.owner_name,
          .workspace = task.workspace_name,
          .task = &task};
}

QueueMember GetMember(const Cluster::State& s, const experiment::Allocation& a) {
  if (!experiment::IsTrial(a)) return GetMember(s.tasks.at(a.task));
  return GetMember(s.experiments.at(s.trials.at(a.trial).experiment).experiment);
}

std::optional<QueueMember> FindMember(const Cluster::State& s, const model::JobId& job) {
  if (const std::optional<model::ExperimentId> id = model::ParseJobId(job)) {
    const auto entry = s.experiments.find(*id);
    if (entry != s.experiments.end()) return GetMember(entry->second.experiment);
    return std::nullopt;
  }
  const auto task = s.tasks.find(model::TaskId(job.value()));
  if (task == s.tasks.end()) return std::nullopt;
  return GetMember(task->second);
}

absl::Duration GetRemainingRunTime(const experiment::Task& task) {
  const std::optional<int64_t>& limit = task.definition->resources.max_run_time;
  if (!limit) return absl::InfiniteDuration();
  return std::max(absl::Seconds(*limit) - task.run_time, absl::ZeroDuration());
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
  if (!experiment::IsTrial(a)) return *a.started_at + GetRemainingRunTime(s.tasks.at(a.task));
  const experiment::Trial& trial = s.trials.at(a.trial);
  return *a.started_at +
         GetRemainingRunTime(*s.experiments.at(trial.experiment).experiment.config, trial);
}

}  // namespace det::cluster
