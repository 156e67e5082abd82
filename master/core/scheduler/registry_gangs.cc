// The part of Registry that is about gangs, jobs and limits.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "master/core/scheduler/holdings.h"
#include "master/core/scheduler/reasons.h"
#include "master/core/scheduler/registry.h"

namespace det::scheduler {
namespace {

JobQueue& GetQueue(GangState& gang) {
  for (const auto& queue : gang.job->queues) {
    if (queue->gang_class == gang.gang_class) return *queue;
  }
  gang.job->queues.push_back(std::make_unique<JobQueue>());
  JobQueue& queue = *gang.job->queues.back();
  queue.job = gang.job;
  queue.gang_class = gang.gang_class;
  return queue;
}

void Join(GangState& gang) {
  JobQueue& queue = GetQueue(gang);
  const bool first = queue.gangs.empty() || JobQueue::BySubmission()(&gang, *queue.gangs.begin());
  if (first) UnlistQueue(queue);
  queue.gangs.insert(queue.gangs.end(), &gang);
  if (first) ListQueue(queue);
}

void Quit(GangState& gang) {
  JobQueue& queue = GetQueue(gang);
  const bool first = *queue.gangs.begin() == &gang;
  if (first) UnlistQueue(queue);
  queue.gangs.erase(&gang);
  if (!queue.gangs.empty()) {
    if (first) ListQueue(queue);
    return;
  }
  auto& queues = gang.job->queues;
  queues.erase(
      std::find_if(queues.begin(), queues.end(), [&](const auto& q) { return q.get() == &queue; }));
}

}  // namespace

bool IsBound(const PoolState& pool, const JobState& job) {
  const auto& allowed = pool.config.workspaces;
  return allowed.empty() ||
         std::find(allowed.begin(), allowed.end(), job.job.workspace) != allowed.end();
}

bool ExceedsJob(const JobState& job, const Shape& shape) {
  if (shape.slots == 0 || !job.job.max_slots) return false;
  return shape.slots * shape.fraction > ToMicro(*job.job.max_slots);
}

int GetPriority(const GangState& gang) {
  const bool by_priority = gang.pool->config.policy == model::SchedulingPolicy::kPriority;
  return by_priority ? gang.job->job.priority : 0;
}

OrderKey MakeOrderKey(const GangState& gang) {
  return {GetPriority(gang), gang.job->job.position, gang.submitted, &gang};
}

void ListQueue(JobQueue& queue) {
  if (queue.listed || queue.gangs.empty()) return;
  if (!IsBound(*queue.gang_class->pool, *queue.job)) return;
  if (ExceedsJob(*queue.job, queue.gang_class->shape)) return;
  queue.key = MakeOrderKey(**queue.gangs.begin());
  queue.listed = true;
  auto& queues = queue.gang_class->queues;
  queues.insert(queues.end(), &queue);
}

void UnlistQueue(JobQueue& queue) {
  if (!queue.listed) return;
  queue.gang_class->queues.erase(&queue);
  queue.listed = false;
}

JobState& Registry::JobNamed(const model::JobId& id) {
  auto& job = jobs_[id];
  if (job == nullptr) {
    job = std::make_unique<JobState>();
    job->job.id = id;
  }
  return *job;
}

Owner* Registry::OwnerNamed(model::Quota::Scope scope, const std::string& name) {
  auto& owner = (scope == model::Quota::Scope::kUser ? users_ : workspaces_)[name];
  if (owner == nullptr) {
    owner = std::make_unique<Owner>();
    owner->name = name;
  }
  return owner.get();
}

void Registry::SetJob(JobState& state, Job job, bool known) {
  for (const auto& queue : state.queues) UnlistQueue(*queue);
  for (GangState* gang : state.running) RemoveVictim(*gang);
  if (state.user != nullptr) state.user->held -= state.held;
  if (state.workspace != nullptr) state.workspace->held -= state.held;
  if (state.job.position_set) --positions_set_;
  limited_.erase(state.job.id);
  state.job = std::move(job);
  state.known = known;
  const Job& now = state.job;
  if (now.position_set) ++positions_set_;
  if (now.max_slots) limited_.emplace(now.id, &state);
  state.user = now.user.empty() ? nullptr : OwnerNamed(model::Quota::Scope::kUser, now.user);
  state.workspace =
      now.workspace.empty() ? nullptr : OwnerNamed(model::Quota::Scope::kWorkspace, now.workspace);
  if (state.user != nullptr) state.user->held += state.held;
  if (state.workspace != nullptr) state.workspace->held += state.held;
  for (JobBranch* branch : absl::InlinedVector<JobBranch*, 1>(state.branches)) {
    branch->tree->Move(*branch);
  }
  for (const auto& queue : state.queues) ListQueue(*queue);
  for (GangState* gang : state.running) AddVictim(*gang);
}

void Registry::Put(Job job) {
  JobState& state = JobNamed(job.id);
  if (state.known && state.job == job) return;
  SetJob(state, std::move(job), /*known=*/true);
}

void Registry::RemoveJob(const model::JobId& id) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return;
  Job defaults;
  defaults.id = id;
  SetJob(*it->second, std::move(defaults), /*known=*/false);
  if (it->second->members > 0) return;
  jobs_.erase(it);
}

GangClass& Registry::GetClass(PoolState& pool, const Gang& gang) {
  Shape shape = MakeShape(gang);
  auto& gang_class = pool.classes[shape];
  if (gang_class == nullptr) {
    gang_class = std::make_unique<GangClass>();
    gang_class->shape = std::move(shape);
    gang_class->pool = &pool;
  }
  return *gang_class;
}

std::vector<Hold> Registry::Resolve(const Gang& gang) {
  std::vector<Hold> holds;
  for (const model::Placement& placement : gang.running_on) {
    NodeState& node = NodeNamed(placement.agent);
    Hold hold{.node = &node, .slots = {}};
    for (const int id : placement.slots) {
      const auto slot =
          std::lower_bound(node.slots.begin(), node.slots.end(), id,
                           [](const SlotState& s, int requested) { return s.id < requested; });
      if (slot != node.slots.end() && slot->id == id) {
        hold.slots.push_back(static_cast<int>(slot - node.slots.begin()));
      } else {
        ++hold.vanished;
      }
    }
    holds.push_back(std::move(hold));
  }
  return holds;
}

void Registry::Enter(GangState& gang) {
  const Gang& g = *gang.gang;
  const GangState* last = last_gang_;
  last_gang_ = &gang;
  const bool same_pool = last != nullptr && last->gang->resource_pool == g.resource_pool;
  gang.pool = same_pool ? last->pool : &PoolNamed(g.resource_pool);
  gang.job = last != nullptr && last->gang->job == g.job ? last->job : &JobNamed(g.job);
  gang.branch = &gang.pool->tree.Enter(*gang.job);
  gang.gang_class =
      same_pool && HaveSameShape(*last->gang, g) ? last->gang_class : &GetClass(*gang.pool, g);
  ++gang.job->members;
  ++gang.gang_class->members;
  if (g.running_on.empty()) return Join(gang);
  gang.terminating = g.terminating;
  gang.started_at = g.started_at;
  gang.saved_at = std::max(g.saved_at, g.started_at);
  Occupy(gang, Resolve(g));
}

void Registry::Leave(GangState& gang) {
  if (last_gang_ == &gang) last_gang_ = nullptr;
  if (gang.running) {
    std::vector<NodeState*> nodes;
    for (const Hold& hold : gang.holds) nodes.push_back(hold.node);
    Vacate(gang);
    gang.terminating = false;
    for (NodeState* node : nodes) {
      if (!node->node && node->gangs.empty()) nodes_.erase(model::AgentId(node->id));
    }
  } else {
    Quit(gang);
  }
  gang.pool->tree.Leave(*gang.branch);
  if (--gang.gang_class->members == 0) {
    const Shape shape = gang.gang_class->shape;
    gang.pool->classes.erase(shape);
  }
  JobState& job = *gang.job;
  if (--job.members == 0 && !job.known) {
    jobs_.erase(model::JobId(job.job.id));
  }
}

void Registry::PutGang(const Gang& gang, std::unique_ptr<const Gang> owned) {
  const auto there = gangs_.find(gang.id);
  GangState* state = there == gangs_.end() ? nullptr : *there;
  if (state != nullptr) {
    Leave(*state);
  } else if (!spare_.empty()) {
    state = spare_.back();
    spare_.pop_back();
  } else {
    state = &gang_states_.emplace_back();
  }
  state->gang = &gang;
  state->submitted = gang.submitted;
  state->owned = std::move(owned);
  if (there == gangs_.end()) gangs_.insert(state);
  Enter(*state);
}

void Registry::Put(Gang gang) {
  auto owned = std::make_unique<const Gang>(std::move(gang));
  const Gang& borrowed = *owned;
  PutGang(borrowed, std::move(owned));
}

void Registry::PutBorrowed(const Gang& gang) { PutGang(gang, nullptr); }

void Registry::RemoveGang(const model::AllocationId& id) {
  const auto it = gangs_.find(id);
  if (it == gangs_.end()) return;
  GangState* gang = *it;
  Leave(*gang);
  gangs_.erase(it);
  *gang = GangState();
  spare_.push_back(gang);
}

void Registry::Put(Limit limit) {
  Owner* owner = OwnerNamed(limit.quota.scope, limit.quota.name);
  owner->limit = std::move(limit);
}

void Registry::RemoveLimit(model::Quota::Scope scope, const std::string& name) {
  OwnerNamed(scope, name)->limit.reset();
}

void Registry::ForEachWaiting(absl::FunctionRef<void(const GangState&)> visit) const {
  for (const GangState& gang : gang_states_) {
    if (gang.gang != nullptr && !gang.running) visit(gang);
  }
}

absl::Status Registry::CheckCanRun(const Gang& gang) const {
  PoolState* pool = FindPool(gang.resource_pool);
  // Agents may connect later; whether the pool exists is checked elsewhere.
  if (pool == nullptr || pool->nodes.empty()) return absl::OkStatus();
  if (pool->stale) pool->Prepare(pool->now);
  GangClass gang_class;
  gang_class.shape = MakeShape(gang);
  gang_class.pool = pool;
  pool->Compile(gang_class);
  JobState nobody;
  const auto job = jobs_.find(gang.job);
  GangState state;
  state.gang = &gang;
  state.pool = pool;
  state.job = job == jobs_.end() ? &nobody : job->second.get();
  state.gang_class = &gang_class;
  // Whether the workspace may use the pool is checked elsewhere.
  auto why = ComputePermanentReason(*this, state);
  if (!why || why->kind == WaitReason::Kind::kNotBound) return absl::OkStatus();
  return absl::InvalidArgumentError(why->text);
}

Snapshot Registry::Dump(absl::Time now) const {
  Snapshot snapshot;
  snapshot.now = now;
  for (const auto& [name, pool] : pools_) {
    if (pool->configured) snapshot.pools.push_back(pool->config);
  }
  for (const auto& [id, node] : nodes_) {
    if (node->node) snapshot.nodes.push_back(*node->node);
  }
  for (const auto& [id, job] : jobs_) {
    if (job->known) snapshot.jobs.push_back(job->job);
  }
  for (const GangState* gang : gangs_) snapshot.gangs.push_back(*gang->gang);
  for (const auto* owners : {&users_, &workspaces_}) {
    for (const auto& [name, owner] : *owners) {
      if (owner->limit) snapshot.limits.push_back(*owner->limit);
    }
  }
  const auto by_id = [](const auto& a, const auto& b) { return a.id < b.id; };
  std::sort(snapshot.nodes.begin(), snapshot.nodes.end(), by_id);
  std::sort(snapshot.jobs.begin(), snapshot.jobs.end(), by_id);
  std::sort(snapshot.gangs.begin(), snapshot.gangs.end(), by_id);
  return snapshot;
}

}  // namespace det::scheduler
