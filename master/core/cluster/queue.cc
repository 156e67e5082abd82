// Changes of the queue by users.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/core/cluster/handlers.h"
#include "master/core/cluster/scheduler_input.h"

namespace det::cluster {
namespace {

using experiment::Experiment;
using experiment::QueuePlace;
using model::SchedulingPolicy;

// The queue with the updates so far. The cluster's queue is changed only if all updates are valid.
class Draft {
 public:
  explicit Draft(Cluster::State& s) : s_(s), order_(s.order) {}

  absl::Status Apply(const UpdateQueue::Update& update);
  // Restores the order of before the updates.
  void Undo();
  const std::map<model::JobId, QueuePlace>& changed() const { return places_; }

 private:
  absl::StatusOr<QueueMember> Find(const model::JobId& job) const;
  void Set(const model::JobId& job, QueuePlace place) {
    order_.Put(job, place);
    places_.insert_or_assign(job, std::move(place));
  }
  // REQUIRES that the job is in the queue.
  const QueuePlace& GetPlace(const model::JobId& job) const {
    const auto it = places_.find(job);
    return it == places_.end() ? *FindMember(s_, job)->place : it->second;
  }
  // FAILED_PRECONDITION if the policy of the pool ignores the update.
  absl::Status CheckPolicy(const UpdateQueue::Update& update, const std::string& pool) const;
  absl::Status MoveBeside(const model::JobId& job, const model::JobId& other, bool ahead);
  // Renumbers the positions of the peers in steps of 1. The last position does not increase, so
  // that later jobs stay behind it.
  void Respace(const QueuePlace& place);

  const Cluster::State& s_;
  QueueOrder& order_;
  std::map<model::JobId, QueuePlace> places_;
};

// Whether the pool is defined, is named by an agent, or is a default pool.
bool IsKnown(const Cluster::State& s, const std::string& pool) {
  if (FindPool(s, pool) != nullptr) return true;
  if (pool == DefaultComputePool(s) || pool == DefaultAuxPool(s)) return true;
  return std::any_of(s.agents.begin(), s.agents.end(),
                     [&](const auto& entry) { return entry.second.resource_pool == pool; });
}

absl::StatusOr<QueueMember> Draft::Find(const model::JobId& job) const {
  if (std::optional<QueueMember> member = FindMember(s_, job)) return *std::move(member);
  return absl::NotFoundError(absl::StrCat("job ", job.value(), " is not in the queue"));
}

absl::Status Draft::CheckPolicy(const UpdateQueue::Update& update, const std::string& name) const {
  const model::ResourcePool* pool = FindPool(s_, name);
  const SchedulingPolicy policy = pool == nullptr ? SchedulingPolicy::kPriority : pool->policy;
  const auto reject = [&](const char* what) {
    return absl::FailedPreconditionError(absl::StrCat("resource pool ", name, " schedules by ",
                                                      std::string(model::ToString(policy)),
                                                      " and ignores ", what));
  };
  if (update.priority && policy != SchedulingPolicy::kPriority) return reject("priorities");
  // A weight is kept for a pool with fair share.
  const bool moved = update.ahead_of || update.behind_of;
  if (moved && policy == SchedulingPolicy::kFairShare) return reject("positions");
  return absl::OkStatus();
}

absl::Status Draft::Apply(const UpdateQueue::Update& update) {
  DET_ASSIGN_OR_RETURN(const QueueMember member, Find(update.job));
  const std::string& job = update.job.value();
  if (update.priority && (*update.priority < 1 || *update.priority > 99)) {
    return absl::InvalidArgumentError(
        absl::StrCat("priority ", *update.priority, " of job ", job, ": it must be from 1 to 99"));
  }
  if (update.weight && !(std::isfinite(*update.weight) && *update.weight > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("weight ", *update.weight, " of job ", job, ": it must be above 0"));
  }
  const int needs = member.resources->slots_per_trial;
  if (update.max_slots && *update.max_slots != 0 && *update.max_slots < needs) {
    return absl::InvalidArgumentError(absl::StrCat("max_slots ", *update.max_slots, " of job ", job,
                                                   ": each of its trials needs ", needs));
  }
  if (update.ahead_of && update.behind_of) {
    return absl::InvalidArgumentError(
        absl::StrCat("job ", job, " cannot be moved ahead of one job and behind another at once"));
  }
  QueuePlace place = GetPlace(member.job);
  const std::string pool = update.resource_pool.value_or(place.resource_pool);
  DET_RETURN_IF_ERROR(CheckPolicy(update, pool));
  if (pool != place.resource_pool) {
    if (!IsKnown(s_, pool)) {
      return absl::NotFoundError(
          absl::StrCat("job ", job, " cannot be moved: there is no resource pool \"", pool, "\""));
    }
    if (member.task != nullptr && !member.task->definition->preemptible &&
        member.task->state != model::TaskState::kQueued &&
        member.task->state != model::TaskState::kPaused) {
      return absl::FailedPreconditionError(
          absl::StrCat("job ", job, " cannot be moved: it runs and cannot be preempted"));
    }
    DET_RETURN_IF_ERROR(CheckCanRun(s_, *member.resources, member.workspace, pool));
    place.resource_pool = pool;
  }
  if (update.priority) place.priority = *update.priority;
  if (update.weight) place.weight = *update.weight;
  if (update.max_slots) {
    place.max_slots = *update.max_slots == 0 ? std::nullopt : std::optional(*update.max_slots);
  }
  Set(member.job, std::move(place));
  if (update.ahead_of) return MoveBeside(member.job, *update.ahead_of, true);
  if (update.behind_of) return MoveBeside(member.job, *update.behind_of, false);
  return absl::OkStatus();
}

absl::Status Draft::MoveBeside(const model::JobId& job, const model::JobId& to, bool ahead) {
  DET_ASSIGN_OR_RETURN(const QueueMember other, Find(to));
  QueuePlace place = GetPlace(job);
  const QueuePlace& beside = GetPlace(other.job);
  if (other.job == job || beside.resource_pool != place.resource_pool ||
      beside.priority != place.priority) {
    return absl::InvalidArgumentError(absl::StrCat(
        "job ", job.value(),
        " can only be moved next to another job of its own pool and priority; ", to.value(),
        " is in pool ", beside.resource_pool, " with priority ", beside.priority));
  }
  order_.Remove(job);
  std::optional<double> position = order_.Beside(other.job, ahead);
  if (!position) {
    Respace(place);
    position = order_.Beside(other.job, ahead);
  }
  place.position = *position;
  place.position_set = true;
  Set(job, std::move(place));
  return absl::OkStatus();
}

void Draft::Respace(const QueuePlace& place) {
  const QueueOrder::Peers peers = order_.GetPeers(place);
  double position = std::floor(peers.rbegin()->first) - static_cast<double>(peers.size());
  for (const auto& [unused, job] : peers) {
    QueuePlace moved = GetPlace(job);
    moved.position = ++position;
    Set(job, std::move(moved));
  }
}

void Draft::Undo() {
  for (const auto& [job, unused] : places_) order_.Put(job, *FindMember(s_, job)->place);
}

// Moves an allocation of a job to the pool: a queued one at once, a running one by a preemption.
void MoveAllocation(Step& step, const std::optional<model::AllocationId>& id,
                    const std::string& pool, const char* what) {
  const auto it = id ? step.s.allocations.find(*id) : step.s.allocations.end();
  if (it == step.s.allocations.end()) return;
  if (it->second.state == model::AllocationState::kQueued) {
    it->second.resource_pool = pool;
    step.Touch(it->second);
  } else {
    Preempt(step, it->second, absl::StrCat(what, " was moved to resource pool ", pool));
  }
}

void SetPlace(Step& step, Entry& entry, const QueuePlace& place) {
  Experiment& e = entry.experiment;
  const bool moves = place.resource_pool != e.queue.resource_pool;
  e.queue = place;
  step.TouchJob(e);
  step.Replan();
  if (!moves) return;
  for (const auto& [request, id] : entry.trials) {
    MoveAllocation(step, step.s.trials.at(id).allocation, place.resource_pool, "its experiment");
  }
}

void SetPlace(Step& step, experiment::Task& task, const QueuePlace& place) {
  const bool moves = place.resource_pool != task.queue.resource_pool;
  task.queue = place;
  step.TouchJob(task);
  step.Replan();
  if (moves) MoveAllocation(step, task.allocation, place.resource_pool, "it");
}

}  // namespace

absl::StatusOr<Outcome> Apply(Step& step, const UpdateQueue& event) {
  Draft draft(step.s);
  for (const UpdateQueue::Update& update : event.updates) {
    if (absl::Status status = draft.Apply(update); !status.ok()) {
      draft.Undo();
      return status;
    }
  }
  for (const auto& [job, place] : draft.changed()) {
    const QueueMember member = *FindMember(step.s, job);
    if (*member.place == place) continue;
    if (member.task != nullptr) {
      SetPlace(step, step.s.tasks.at(member.task->id), place);
    } else {
      SetPlace(step, step.s.experiments.at(member.experiment->id), place);
    }
  }
  return step.Finish();
}

experiment::QueuePlace MakePlace(const Cluster::State& s, const model::ResourcesConfig& resources,
                                 double position) {
  QueuePlace place;
  place.resource_pool = resources.resource_pool;
  if (place.resource_pool.empty()) {
    place.resource_pool = resources.slots_per_trial > 0 ? DefaultComputePool(s) : DefaultAuxPool(s);
  }
  const model::ResourcePool* pool = FindPool(s, place.resource_pool);
  const int usual =
      pool == nullptr ? model::ResourcePool().default_priority : pool->default_priority;
  place.priority = resources.priority.value_or(usual);
  place.weight = resources.weight;
  place.max_slots = resources.max_slots;
  place.position = position;
  return place;
}

}  // namespace det::cluster
