#include "master/core/cluster/scheduler_input.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"

namespace det::cluster {
namespace {

using model::AllocationState;

// Returns the resources that each trial of the configuration requests.
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
  // The searcher stops counting a trial when it pauses it; the slots are released later.
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
  gang.max_run_time = GetRemainingRunTime(config, trial);
  for (const experiment::LocalTask& local_task : a.local_tasks) {
    if (!local_task.exited) gang.running_on.push_back(local_task.placement);
  }
  if (a.started_at) {
    gang.started_at = *a.started_at;
    gang.saved_at = a.saved_at.value_or(*a.started_at);
  }
  gang.terminating =
      a.state == AllocationState::kPreempting || a.state == AllocationState::kStopping;
  return gang;
}

scheduler::Limit MakeLimit(const Cluster::State& s, const model::Quota& quota, absl::Time now) {
  return {.quota = quota, .slot_hours_used = s.slot_time.Hours(quota.scope, quota.name, now)};
}

void FillScheduler(const Cluster::State& s, absl::Time now, scheduler::Scheduler& scheduler) {
  for (const model::ResourcePool& pool : s.settings.pools) {
    if (!s.pools.contains(pool.name)) scheduler.Put(pool);
  }
  for (const auto& [name, pool] : s.pools) scheduler.Put(pool);
  for (const auto& [id, agent] : s.agents) scheduler.Put(MakeNode(s, agent));
  for (const auto& [id, entry] : s.experiments) scheduler.Put(MakeJob(entry.experiment));
  for (const auto& [id, allocation] : s.allocations) scheduler.Put(MakeGang(s, allocation));
  for (const model::Quota& quota : Quotas(s)) scheduler.Put(MakeLimit(s, quota, now));
}

void DeriveState(Cluster::State& s, const Usage& usage) {
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
  // The limits are updated before each pass that uses them.
  FillScheduler(s, usage.month, s.scheduler);
}

absl::Status CheckCapacity(const Cluster::State& s, const model::ExperimentConfig& config,
                           const std::string& name) {
  // Agents may connect later.
  if (!HasAgents(s, name)) return absl::OkStatus();
  scheduler::Gang gang = MakeRequest(config);
  gang.resource_pool = name;
  return s.scheduler.CheckCanRun(gang);
}

absl::Status CheckCanRun(const Cluster::State& s, const model::ExperimentConfig& config,
                         const std::string& name) {
  const model::ResourcePool* pool = FindPool(s, name);
  if (pool != nullptr && !pool->workspaces.empty() &&
      std::find(pool->workspaces.begin(), pool->workspaces.end(), config.workspace) ==
          pool->workspaces.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("workspace \"", config.workspace, "\" may not use resource pool \"", name,
                     "\", which is bound to ", absl::StrJoin(pool->workspaces, ", "),
                     "; choose another pool with resources.resource_pool"));
  }
  return s.settings.launch_error ? CheckCapacity(s, config, name) : absl::OkStatus();
}

}  // namespace det::cluster
