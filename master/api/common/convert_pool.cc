#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/api/common/convert_resources.h"

namespace det::api {
namespace {

// Counts of the agents, slots and jobs of a pool.
struct PoolStats {
  int agents = 0;
  int aux_room = 0;
  int slots = 0;      // slots that accept work
  int per_agent = 0;  // slots of the largest agent
  std::set<std::pair<model::AgentId, int>> used;
  int aux_running = 0;
  const model::Device* device = nullptr;  // one of its devices
  std::set<model::JobId> queued, scheduled;
};

void AddAgent(const cluster::Cluster& cluster, const model::Agent& agent, int aux_per_agent,
              PoolStats* out) {
  ++out->agents;
  out->per_agent = std::max(out->per_agent, static_cast<int>(agent.slots.size()));
  if (!agent.slots.empty()) out->device = &agent.slots[0];
  const auto decided = cluster.agent_states().find(agent.id);
  const model::AgentState* state =
      decided == cluster.agent_states().end() ? nullptr : &decided->second;
  if (!agent.connected || (state != nullptr && !state->enabled)) return;
  out->aux_room += aux_per_agent;
  for (const model::Device& device : agent.slots) {
    if (state != nullptr) {
      const auto slot = state->slots.find(device.id);
      const bool out_of_work =
          slot != state->slots.end() && (!slot->second.enabled || slot->second.quarantined);
      if (out_of_work) continue;
    }
    ++out->slots;
  }
}

std::map<std::string, PoolStats> ComputePoolStats(const cluster::Cluster& cluster,
                                                  const std::vector<cluster::KnownPool>& pools) {
  std::map<std::string, int> aux;
  for (const cluster::KnownPool& view : pools) aux[view.pool.name] = view.pool.max_aux_per_agent;
  std::map<std::string, PoolStats> stats;
  for (const auto& [unused, agent] : cluster.agents()) {
    AddAgent(cluster, agent, aux[agent.resource_pool], &stats[agent.resource_pool]);
  }
  for (const experiment::Allocation* allocation : cluster.live_allocations()) {
    PoolStats& pool = stats[allocation->resource_pool];
    bool placed = false;
    for (const experiment::LocalTask& local_task : allocation->local_tasks) {
      if (local_task.exited) continue;
      placed = true;
      for (const int slot : local_task.placement.slots)
        pool.used.emplace(local_task.placement.agent, slot);
      if (local_task.placement.slots.empty()) ++pool.aux_running;
    }
    (placed ? pool.scheduled : pool.queued).insert(allocation->job);
  }
  return stats;
}

v1::ResourcePool::SchedulerType PolicyToProto(model::SchedulingPolicy policy) {
  switch (policy) {
    case model::SchedulingPolicy::kPriority:
      return v1::ResourcePool::SCHEDULER_TYPE_PRIORITY;
    case model::SchedulingPolicy::kFairShare:
      return v1::ResourcePool::SCHEDULER_TYPE_FAIR_SHARE;
    case model::SchedulingPolicy::kFifo:
      break;  // existing clients know no type for it; see ResourcePool.policy
  }
  return v1::ResourcePool::SCHEDULER_TYPE_UNSPECIFIED;
}

absl::StatusOr<absl::Duration> ToDuration(const char* field, double seconds) {
  // This also rejects NaN, and values that would overflow a duration.
  if (!(seconds >= 0 && seconds < 1e9)) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": expected a number from 0 to 1e9, found ", seconds));
  }
  return absl::Seconds(seconds);
}

void AddPolicy(const model::ResourcePool& pool, v1::ResourcePool* out) {
  out->set_scheduler_type(PolicyToProto(pool.policy));
  out->set_policy(std::string(ToString(pool.policy)));
  out->set_scheduler_fitting_policy(pool.fitting == model::FittingPolicy::kBest
                                        ? v1::ResourcePool::FITTING_POLICY_BEST
                                        : v1::ResourcePool::FITTING_POLICY_WORST);
  out->set_preemption(pool.preemption);
  out->set_heterogeneous(pool.heterogeneous);
  out->set_backfill(pool.backfill);
  out->set_hold_after_seconds(absl::ToDoubleSeconds(pool.hold_after));
  out->set_maintenance_lead_seconds(absl::ToDoubleSeconds(pool.maintenance_lead));
  out->set_default_priority(pool.default_priority);
  out->set_shared_devices(pool.shared_devices);
  out->set_aux_container_capacity_per_agent(pool.max_aux_per_agent);
  for (const std::string& name : pool.workspaces) out->add_workspaces(name);
  // Set for every policy: clients of Determined require it.
  v1::ResourcePool::Detail* details = out->mutable_details();
  if (pool.policy == model::SchedulingPolicy::kPriority) {
    details->mutable_priority_scheduler()->set_preemption(pool.preemption);
    details->mutable_priority_scheduler()->set_default_priority(pool.default_priority);
  }
}

void AddPoolStats(const PoolStats& stats, v1::ResourcePool* out) {
  static constexpr v1::ResourcePool::SlotType kTypes[] = {
      v1::ResourcePool::TYPE_CPU, v1::ResourcePool::TYPE_CUDA, v1::ResourcePool::TYPE_ROCM,
      v1::ResourcePool::TYPE_UNSPECIFIED /* TPU */};
  out->set_num_agents(stats.agents);
  out->set_slots_available(stats.slots);
  out->set_slots_used(static_cast<int>(stats.used.size()));
  out->set_slots_per_agent(stats.per_agent);
  out->set_aux_container_capacity(stats.aux_room);
  out->set_aux_containers_running(stats.aux_running);
  if (stats.device != nullptr) {
    out->set_slot_type(kTypes[static_cast<int>(stats.device->type)]);
    out->set_accelerator(stats.device->brand);
  }
  int queued = 0;
  for (const model::JobId& job : stats.queued) queued += stats.scheduled.contains(job) ? 0 : 1;
  out->mutable_stats()->set_queued_count(queued);
  out->mutable_stats()->set_scheduled_count(static_cast<int>(stats.scheduled.size()));
}

const char* SourceText(cluster::KnownPool::Source source) {
  switch (source) {
    case cluster::KnownPool::Source::kFile:
      return "file";
    case cluster::KnownPool::Source::kRuntime:
      return "runtime";
    case cluster::KnownPool::Source::kAgents:
      return "agents";
  }
  return "";
}

}  // namespace

std::vector<v1::ResourcePool> ListPools(const cluster::Cluster& cluster) {
  const std::vector<cluster::KnownPool> views = cluster.pools();
  std::map<std::string, PoolStats> stats = ComputePoolStats(cluster, views);
  std::vector<v1::ResourcePool> pools;
  for (const cluster::KnownPool& view : views) {
    v1::ResourcePool& out = pools.emplace_back();
    out.set_name(view.pool.name);
    out.set_description(view.pool.description);
    out.set_type(v1::ResourcePool::RESOURCE_POOL_TYPE_STATIC);
    out.set_location("on-prem");
    out.set_source(SourceText(view.source));
    out.set_default_compute_pool(view.pool.name == cluster.default_compute());
    out.set_default_aux_pool(view.pool.name == cluster.default_aux());
    AddPolicy(view.pool, &out);
    AddPoolStats(stats[view.pool.name], &out);
  }
  return pools;
}

absl::Status NoSuchPool(const cluster::Cluster& cluster, const std::string& name) {
  const auto append = [](std::string* out, const cluster::KnownPool& view) {
    out->append(view.pool.name);
  };
  return absl::NotFoundError(absl::StrCat("resource pool \"", name, "\" not found; there are: ",
                                          absl::StrJoin(cluster.pools(), ", ", append)));
}

v1::Quota ToProto(const scheduler::Limit& limit, double slots_used) {
  v1::Quota out;
  out.set_scope(limit.quota.scope == model::Quota::Scope::kUser ? "user" : "workspace");
  out.set_name(limit.quota.name);
  if (limit.quota.max_slots) out.set_max_slots(*limit.quota.max_slots);
  if (limit.quota.slot_hours) out.set_slot_hours(*limit.quota.slot_hours);
  out.set_slots_used(slots_used);
  out.set_slot_hours_used(limit.slot_hours_used);
  return out;
}

absl::StatusOr<model::Quota::Scope> ParseScope(const std::string& scope) {
  if (scope == "user") return model::Quota::Scope::kUser;
  if (scope == "workspace") return model::Quota::Scope::kWorkspace;
  return absl::InvalidArgumentError(
      absl::StrCat("scope: expected \"user\" or \"workspace\", found \"", scope, "\""));
}

absl::StatusOr<model::Quota> FromProto(const v1::Quota& quota) {
  model::Quota out;
  DET_ASSIGN_OR_RETURN(out.scope, ParseScope(quota.scope()));
  out.name = quota.name();
  if (quota.has_max_slots()) out.max_slots = quota.max_slots();
  if (quota.has_slot_hours()) out.slot_hours = quota.slot_hours();
  return out;
}

absl::Status Apply(const v1::PutResourcePoolRequest& request, model::ResourcePool* pool) {
  if (request.has_policy()) {
    const auto policy = model::ParseSchedulingPolicy(request.policy());
    if (!policy) {
      return absl::InvalidArgumentError(absl::StrCat(
          "policy: expected priority, fair_share or fifo, found \"", request.policy(), "\""));
    }
    pool->policy = *policy;
  }
  if (request.has_fitting()) {
    const auto fitting = model::ParseFittingPolicy(request.fitting());
    if (!fitting) {
      return absl::InvalidArgumentError(
          absl::StrCat("fitting: expected best or worst, found \"", request.fitting(), "\""));
    }
    pool->fitting = *fitting;
  }
  if (request.has_hold_after_seconds()) {
    DET_ASSIGN_OR_RETURN(pool->hold_after,
                         ToDuration("hold_after_seconds", request.hold_after_seconds()));
  }
  if (request.has_maintenance_lead_seconds()) {
    DET_ASSIGN_OR_RETURN(pool->maintenance_lead, ToDuration("maintenance_lead_seconds",
                                                            request.maintenance_lead_seconds()));
  }
  if (request.has_description()) pool->description = request.description();
  if (request.has_preemption()) pool->preemption = request.preemption();
  if (request.has_heterogeneous()) pool->heterogeneous = request.heterogeneous();
  if (request.has_backfill()) pool->backfill = request.backfill();
  if (request.has_default_priority()) pool->default_priority = request.default_priority();
  if (request.has_max_aux_per_agent()) pool->max_aux_per_agent = request.max_aux_per_agent();
  if (request.has_shared_devices()) pool->shared_devices = request.shared_devices();
  return absl::OkStatus();
}

}  // namespace det::api
