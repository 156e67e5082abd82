#include "master/core/cluster/cluster.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "master/core/cluster/handlers.h"
#include "master/core/cluster/scheduler_input.h"
#include "master/core/model/id_text.h"

namespace det::cluster {

Cluster::Cluster(Settings settings) : state_(std::make_unique<State>()) {
  state_->settings = std::move(settings);
  DeriveState(*state_, {});
}

Cluster::~Cluster() = default;
Cluster::Cluster(Cluster&&) noexcept = default;
Cluster& Cluster::operator=(Cluster&&) noexcept = default;

absl::StatusOr<Outcome> Cluster::Apply(const Event& event, absl::Time now) {
  state_->now = now;
  Step step(*state_, now);
  return event.Visit<absl::StatusOr<Outcome>>(
      [&](const auto& kind) { return cluster::Apply(step, kind); });
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

const experiment::Task* Cluster::FindTask(const model::TaskId& id) const {
  const auto it = state_->tasks.find(id);
  return it == state_->tasks.end() ? nullptr : &it->second;
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

std::vector<const experiment::Task*> Cluster::live_tasks() const {
  std::vector<const experiment::Task*> live;
  for (const auto& [id, task] : state_->tasks) live.push_back(&task);
  return live;
}

std::vector<const experiment::Allocation*> Cluster::live_allocations(model::ExperimentId id) const {
  std::vector<const experiment::Allocation*> live;
  const std::string prefix = model::AllocationPrefix(id);
  for (auto it = state_->allocations.lower_bound(model::AllocationId(prefix));
       it != state_->allocations.end() && it->first.value().starts_with(prefix); ++it) {
    live.push_back(&it->second);
  }
  return live;
}

bool Cluster::HasAllocations(model::ExperimentId id) const {
  const std::string prefix = model::AllocationPrefix(id);
  const auto it = state_->allocations.lower_bound(model::AllocationId(prefix));
  return it != state_->allocations.end() && it->first.value().starts_with(prefix);
}

const std::map<model::AgentId, model::AgentState>& Cluster::agent_states() const {
  return state_->agent_states;
}

std::optional<scheduler::WaitReason> Cluster::FindWaitReason(const model::AllocationId& id) const {
  return state_->scheduler.GetWaitReason(id);
}

bool Cluster::IsBackfilled(const model::AllocationId& id) const {
  return state_->backfilled.contains(id);
}

std::vector<KnownPool> Cluster::pools() const {
  std::map<std::string, KnownPool> by_name;
  for (const auto& [id, agent] : state_->agents) {
    KnownPool& view = by_name[agent.resource_pool];
    view.pool.name = agent.resource_pool;
    view.source = KnownPool::Source::kAgents;
  }
  for (const std::string* name : {&default_compute(), &default_aux()}) {
    by_name[*name].pool.name = *name;
  }
  for (const model::ResourcePool& pool : state_->settings.pools) {
    by_name[pool.name] = {pool, KnownPool::Source::kFile};
  }
  for (const auto& [name, pool] : state_->pools) {
    by_name[name] = {pool, KnownPool::Source::kRuntime};
  }
  std::vector<KnownPool> views;
  for (auto& [name, view] : by_name) {
    // An agent that has no row is known without its pool until it registers.
    if (!name.empty()) views.push_back(std::move(view));
  }
  return views;
}

const std::string& Cluster::default_compute() const { return DefaultComputePool(*state_); }
const std::string& Cluster::default_aux() const { return DefaultAuxPool(*state_); }

std::vector<scheduler::Limit> Cluster::limits() const {
  std::vector<scheduler::Limit> limits;
  for (const model::Quota& quota : Quotas(*state_)) {
    limits.push_back(MakeLimit(*state_, quota, state_->now));
  }
  return limits;
}

const scheduler::Scheduler& Cluster::scheduler() const { return state_->scheduler; }

absl::Status Cluster::CheckScheduler() const {
  scheduler::Scheduler fresh;
  FillScheduler(*state_, absl::InfinitePast(), fresh);
  scheduler::Snapshot actual = state_->scheduler.Dump(absl::InfinitePast());
  scheduler::Snapshot expected = fresh.Dump(absl::InfinitePast());
  for (scheduler::Snapshot* snapshot : {&actual, &expected}) {
    // The limits are as of different times.
    for (scheduler::Limit& limit : snapshot->limits) limit.slot_hours_used = 0;
  }
  if (actual == expected) return absl::OkStatus();
  const char* part = actual.pools != expected.pools   ? "pools"
                     : actual.nodes != expected.nodes ? "nodes"
                     : actual.jobs != expected.jobs   ? "jobs"
                     : actual.gangs != expected.gangs ? "gangs"
                                                      : "limits";
  return absl::InternalError(absl::StrCat("the scheduler has other ", part, " than the cluster"));
}

}  // namespace det::cluster
