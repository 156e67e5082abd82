#include "master/core/cluster/mirror.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace det::cluster {
namespace {

using model::AllocationState;

// What each trial of the configuration asks for.
scheduler::Gang MakeRequest(const model::ExperimentConfig& config) {
  const model::ResourcesConfig& resources = config.resources;
  scheduler::Gang gang;
  gang.slots = resources.slots_per_trial;
  gang.max_slots = resources.max_slots_per_trial > gang.slots ? resources.max_slots_per_trial : 0;
  gang.fraction = resources.slot_fraction;
  gang.cpus = resources.cpus;
  gang.memory = resources.memory;
  gang.slot_type = resources.slot_type;
  gang.device = resources.device;
  gang.single_node = resources.is_single_node;
  for (const std::string& agent : resources.blocked_agents) gang.blocked.emplace_back(agent);
  return gang;
}

}  // namespace

scheduler::Node MakeNode(const Cluster::State& s, const model::Agent& agent) {
  scheduler::Node node{.id = agent.id, .resource_pool = agent.resource_pool, .slots = {}};
  node.cpus = agent.cpus;
  node.memory = agent.memory;
  node.network_switch = agent.network_switch;
  node.labels = agent.labels;
  node.accepts_work = agent.connected;
  const model::ResourcePool* pool = FindPool(s, agent.resource_pool);
  node.aux = pool == nullptr ? model::ResourcePool().max_aux_per_agent : pool->max_aux_per_agent;
  for (const model::Device& device : agent.slots) {
    scheduler::Slot slot{.id = device.id, .type = device.type, .model = device.brand};
    slot.island = device.island;
    node.slots.push_back(std::move(slot));
  }
  const auto state = s.agent_states.find(agent.id);
  if (state == s.agent_states.end()) return node;
  node.maintenance = state->second.maintenance;
  node.accepts_work = agent.connected && state->second.enabled;
  for (scheduler::Slot& slot : node.slots) {
    const auto of = state->second.slots.find(slot.id);
    if (of == state->second.slots.end()) continue;
    slot.enabled = of->second.enabled && !of->second.quarantined;
  }
  return node;
}

scheduler::Job MakeJob(const experiment::Experiment& e) {
  scheduler::Job job{.id = e.job};
  job.priority = e.queue.priority;
  job.weight = e.queue.weight;
  job.position = e.queue.position;
  job.position_set = e.queue.position_set;
  if (e.queue.max_slots) job.max_slots = *e.queue.max_slots;
  // The searcher counts a trial no more once it is told to pause; its slots may take longer.
  const int64_t concurrent = e.config->searcher.max_concurrent_trials;
  if (concurrent > 0) job.max_gangs = concurrent;
  job.workspace = e.config->workspace;
  job.user = experiment::OwnerName(e);
  return job;
}

scheduler::Gang MakeGang(const Cluster::State& s, const experiment::Allocation& a) {
  const experiment::Trial& trial = s.trials.at(a.trial);
  const model::ExperimentConfig& config = *s.experiments.at(trial.experiment).experiment.config;
  scheduler::Gang gang = MakeRequest(config);
  gang.id = a.id;
  gang.job = a.job;
  gang.resource_pool = a.resource_pool;
  gang.slots = a.slots;
  gang.max_slots = a.max_slots;
  gang.fraction = a.fraction;
  gang.blocked.insert(gang.blocked.end(), trial.blocked.begin(), trial.blocked.end());
  gang.blocked.insert(gang.blocked.end(), trial.suspects.begin(), trial.suspects.end());
  gang.submitted = a.submitted;
  gang.queued_at = a.queued_at;
  gang.max_run_time = TimeLeft(config, trial);
  for (const experiment::Share& share : a.shares) {
    if (!share.exited) gang.running_on.push_back(share.placement);
  }
  if (a.started_at) {
    gang.started_at = *a.started_at;
    gang.saved_at = a.saved_at.value_or(*a.started_at);
  }
  gang.leaving = a.state == AllocationState::kPreempting || a.state == AllocationState::kStopping;
  return gang;
}

scheduler::Limit MakeLimit(const Cluster::State& s, const model::Quota& quota, absl::Time now) {
  return {.quota = quota, .slot_hours_used = s.slot_time.Hours(quota.scope, quota.name, now)};
}

void Mirror(const Cluster::State& s, absl::Time now, scheduler::Scheduler& scheduler) {
  for (const model::ResourcePool& pool : s.settings.pools) {
    if (!s.pools.contains(pool.name)) scheduler.Put(pool);
  }
  for (const auto& [name, pool] : s.pools) scheduler.Put(pool);
  for (const auto& [id, agent] : s.agents) scheduler.Put(MakeNode(s, agent));
  for (const auto& [id, entry] : s.experiments) scheduler.Put(MakeJob(entry.experiment));
  for (const auto& [id, allocation] : s.allocations) scheduler.Put(MakeGang(s, allocation));
  for (const model::Quota& quota : Quotas(s)) scheduler.Put(MakeLimit(s, quota, now));
}

void Derive(Cluster::State& s, const Usage& usage) {
  s.slot_time = SlotTime(usage);
  for (const auto& [id, a] : s.allocations) {
    s.slots.Put(a);
    if (!a.started_at) continue;
    const experiment::Experiment& e = s.experiments.at(s.trials.at(a.trial).experiment).experiment;
    s.slot_time.Begin(id, experiment::OwnerName(e), e.config->workspace, a.granted * a.fraction,
                      *a.started_at);
  }
  for (const auto& [id, entry] : s.experiments) s.order.Put(id, entry.experiment.queue);
  s.scheduler = scheduler::Scheduler();
  // The limits are told anew before each pass that looks at them.
  Mirror(s, usage.month, s.scheduler);
}

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

absl::Status CanEverRun(const Cluster::State& s, const model::ExperimentConfig& config,
                        const std::string& name) {
  const model::ResourcePool* pool = FindPool(s, name);
  if (pool != nullptr && !pool->workspaces.empty() &&
      std::find(pool->workspaces.begin(), pool->workspaces.end(), config.workspace) ==
          pool->workspaces.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("workspace \"", config.workspace, "\" may not use resource pool \"", name,
                     "\", which is for ", absl::StrJoin(pool->workspaces, ", "),
                     "; name another by resources.resource_pool"));
  }
  // Agents may come later.
  if (!HasAgents(s, name)) return absl::OkStatus();
  scheduler::Gang gang = MakeRequest(config);
  gang.resource_pool = name;
  return s.scheduler.CanEverRun(gang);
}

absl::Duration TimeLeft(const model::ExperimentConfig& config, const experiment::Trial& trial) {
  if (!config.resources.max_run_time) return absl::InfiniteDuration();
  return std::max(absl::Seconds(*config.resources.max_run_time) - trial.run_time,
                  absl::ZeroDuration());
}

absl::Duration TimeToLeave(const Cluster::State& s, const model::ExperimentConfig& config) {
  if (!config.resources.max_run_time) return absl::ZeroDuration();
  return std::min(absl::Seconds(config.preemption_timeout_seconds) + s.settings.stop_grace,
                  absl::Seconds(*config.resources.max_run_time) / 8);
}

absl::Duration WorkLeft(const Cluster::State& s, const experiment::Trial& trial) {
  const model::ExperimentConfig& config = *s.experiments.at(trial.experiment).experiment.config;
  return TimeLeft(config, trial) - TimeToLeave(s, config);
}

absl::Time EndOfTime(const Cluster::State& s, const experiment::Allocation& a) {
  if (!a.started_at) return absl::InfiniteFuture();
  const experiment::Trial& trial = s.trials.at(a.trial);
  return *a.started_at + TimeLeft(*s.experiments.at(trial.experiment).experiment.config, trial);
}

}  // namespace det::cluster
