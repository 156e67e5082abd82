#include <algorithm>
#include <set>
#include <utility>

#include "master/cluster/state.h"
#include "master/scheduler/scheduler.h"

namespace det::cluster {
namespace {

using experiment::Allocation;
using experiment::Share;
using SlotKey = std::pair<model::AgentId, int>;

scheduler::Gang MakeGang(const Cluster::State& s, const Allocation& a) {
  const experiment::Trial& trial = s.trials.at(a.trial);
  const model::ExperimentConfig& config = *s.experiments.at(trial.experiment).experiment.config;
  const model::ResourcesConfig& resources = config.resources;
  scheduler::Gang gang;
  gang.id = a.id;
  gang.job = a.job;
  gang.resource_pool =
      resources.resource_pool.empty() ? s.settings.default_resource_pool : resources.resource_pool;
  gang.slots = a.slots;
  gang.single_node = resources.is_single_node;
  gang.preemptible = a.state == model::AllocationState::kRunning;
  gang.submitted = a.submitted;
  for (const Share& share : a.shares) {
    if (!share.exited) gang.running_on.push_back(share.placement);
  }
  return gang;
}

scheduler::Job MakeJob(const experiment::Experiment& e) {
  const model::ResourcesConfig& resources = e.config->resources;
  scheduler::Job job{.id = e.job};
  job.priority = resources.priority.value_or(job.priority);
  if (resources.max_slots) job.max_slots = *resources.max_slots;
  // The searcher counts a trial no more once it is told to pause; its slots may take longer.
  const int64_t concurrent = e.config->searcher.max_concurrent_trials;
  if (concurrent > 0) job.max_gangs = concurrent;
  return job;
}

scheduler::Snapshot MakeSnapshot(const Cluster::State& s) {
  scheduler::Snapshot snapshot;
  for (const auto& [id, agent] : s.agents) {
    scheduler::Node node{.id = id, .resource_pool = agent.resource_pool, .slots = {}};
    for (const model::Device& device : agent.slots) node.slots.push_back({.id = device.id});
    node.accepts_work = agent.connected;
    snapshot.nodes.push_back(std::move(node));
  }
  for (const auto& [id, entry] : s.experiments) snapshot.jobs.push_back(MakeJob(entry.experiment));
  for (const auto& [id, allocation] : s.allocations) {
    snapshot.gangs.push_back(MakeGang(s, allocation));
  }
  return snapshot;
}

// Whether the placements still name free slots of connected agents.
bool StillFits(const Cluster::State& s, const std::vector<model::Placement>& placements) {
  std::set<SlotKey> taken;
  for (const auto& [id, allocation] : s.allocations) {
    for (const Share& share : allocation.shares) {
      if (share.exited) continue;
      for (const int slot : share.placement.slots) taken.emplace(share.placement.agent, slot);
    }
  }
  for (const model::Placement& placement : placements) {
    const auto agent = s.agents.find(placement.agent);
    if (agent == s.agents.end() || !agent->second.connected) return false;
    for (const int slot : placement.slots) {
      const auto& slots = agent->second.slots;
      const bool exists = std::any_of(slots.begin(), slots.end(),
                                      [&](const model::Device& d) { return d.id == slot; });
      if (!exists || !taken.emplace(placement.agent, slot).second) return false;
    }
  }
  return true;
}

void AssignSlots(Step& step, const model::AllocationId& id,
                 const std::vector<model::Placement>& placements) {
  const auto it = step.s.allocations.find(id);
  if (it == step.s.allocations.end() || it->second.state != model::AllocationState::kQueued) return;
  if (!StillFits(step.s, placements)) return step.Reschedule();
  experiment::Trial& trial = step.s.trials.at(it->second.trial);
  Do(step, trial, experiment::OnAssigned(trial));
  Do(step, it->second, experiment::Assign(it->second, placements, step.now));
}

void PreemptForOthers(Step& step, const model::AllocationId& id) {
  const auto it = step.s.allocations.find(id);
  if (it == step.s.allocations.end() || it->second.state != model::AllocationState::kRunning) {
    return;
  }
  const auto& config = *step.EntryOf(step.s.trials.at(it->second.trial)).experiment.config;
  Do(step, it->second,
     experiment::Preempt(it->second, "its slots are needed for work of higher priority",
                         absl::Seconds(config.preemption_timeout_seconds), step.now));
}

// Reasons are no durable state: only those who look at them hear of a new one.
void NoteReasons(Step& step, std::map<model::AllocationId, scheduler::WaitReason> waiting) {
  for (const auto& [id, reason] : waiting) {
    const auto before = step.s.waiting.find(id);
    if (before != step.s.waiting.end() && before->second == reason) continue;
    const auto allocation = step.s.allocations.find(id);
    if (allocation == step.s.allocations.end()) continue;
    step.Effect(ExperimentChanged{step.s.trials.at(allocation->second.trial).experiment});
  }
  step.s.waiting = std::move(waiting);
}

}  // namespace

absl::StatusOr<Outcome> Apply(Step& step, const ScheduleTick&) {
  scheduler::Scheduled scheduled = scheduler::Schedule(MakeSnapshot(step.s));
  NoteReasons(step, std::move(scheduled.waiting));
  for (const scheduler::Assignment& a : scheduled.plan.assign) AssignSlots(step, a.gang, a.on);
  for (const scheduler::Preemption& p : scheduled.plan.preempt) PreemptForOthers(step, p.victim);
  return step.Finish();
}

}  // namespace det::cluster
