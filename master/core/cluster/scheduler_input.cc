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

// Returns what each trial with these resources, or another task, requests.
scheduler::Gang MakeRequest(const model::ResourcesConfig& resources) {
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

scheduler::Job MakeJob(const QueueMember& member) {
  scheduler::Job job{.id = member.job};
  job.priority = member.place->priority;
  job.weight = member.place->weight;
  job.position = member.place->position;
  job.position_set = member.place->position_set;
  if (member.place->max_slots) job.max_slots = *member.place->max_slots;
  job.workspace = member.workspace;
  job.user = member.user;
  if (member.experiment == nullptr) return job;
  // The searcher stops counting a trial when it pauses it; the slots are released later.
  const int64_t concurrent = member.experiment->config->searcher.max_concurrent_trials;
  if (concurrent > 0) job.max_gangs = concurrent;
  return job;
}

scheduler::Gang MakeGang(const Cluster::State& s, const experiment::Allocation& a) {
  const QueueMember member = GetMember(s, a);
  scheduler::Gang gang = MakeRequest(*member.resources);
  gang.id = a.id;
  gang.job = a.job;
  gang.resource_pool = a.resource_pool;
  gang.slots = a.slots;
  gang.max_slots = a.max_slots;
  gang.fraction = a.fraction;
  if (member.task != nullptr) {
    gang.preemptible = member.task->definition->preemptible;
    gang.max_run_time = GetRemainingRunTime(*member.task);
  } else {
    const experiment::Trial& trial = s.trials.at(a.trial);
    gang.blocked.insert(gang.blocked.end(), trial.blocked.begin(), trial.blocked.end());
    gang.blocked.insert(gang.blocked.end(), trial.suspects.begin(), trial.suspects.end());
    gang.max_run_time = GetRemainingRunTime(*member.experiment->config, trial);
  }
  gang.submitted = a.submitted;
  gang.queued_at = a.queued_at;
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
  for (const auto& [id, entry] : s.experiments) {
    scheduler.Put(MakeJob(GetMember(entry.experiment)));
  }
  for (const auto& [id, task] : s.tasks) scheduler.Put(MakeJob(GetMember(task)));
  for (const auto& [id, allocation] : s.allocations) scheduler.Put(MakeGang(s, allocation));
  for (const model::Quota& quota : Quotas(s)) scheduler.Put(MakeLimit(s, quota, now));
}

void DeriveState(Cluster::State& s, const Usage& usage) {
  s.slot_time = SlotTime(usage);
  for (const auto& [id, a] : s.allocations) {
    s.slots.Put(a);
    if (!a.started_at) continue;
    const QueueMember member = GetMember(s, a);
    s.slot_time.Begin(id, member.user, member.workspace, a.granted * a.fraction, *a.started_at);
  }
  for (const auto& [id, entry] : s.experiments) {
    s.order.Put(entry.experiment.job, entry.experiment.queue);
  }
  for (const auto& [id, task] : s.tasks) s.order.Put(experiment::GetJob(task), task.queue);
  s.scheduler = scheduler::Scheduler();
  // The limits are updated before each pass that uses them.
  FillScheduler(s, usage.month, s.scheduler);
}

absl::Status CheckCapacity(const Cluster::State& s, const model::ResourcesConfig& resources,
                           const std::string& name) {
  // Agents may connect later.
  if (!HasAgents(s, name)) return absl::OkStatus();
  scheduler::Gang gang = MakeRequest(resources);
  gang.resource_pool = name;
  return s.scheduler.CheckCanRun(gang);
}

absl::Status CheckCanRun(const Cluster::State& s, const model::ResourcesConfig& resources,
                         const std::string& workspace, const std::string& name) {
  const model::ResourcePool* pool = FindPool(s, name);
  if (pool != nullptr && !pool->workspaces.empty() &&
      std::find(pool->workspaces.begin(), pool->workspaces.end(), workspace) ==
          pool->workspaces.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("workspace \"", workspace, "\" may not use resource pool \"", name,
                     "\", which is bound to ", absl::StrJoin(pool->workspaces, ", "),
                     "; choose another pool with resources.resource_pool"));
  }
  return s.settings.launch_error ? CheckCapacity(s, resources, name) : absl::OkStatus();
}

}  // namespace det::cluster
