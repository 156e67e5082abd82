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
#include "master/core/model/id_text.h"

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
  const std::map<model::ExperimentId, QueuePlace>& changed() const { return places_; }

 private:
  absl::StatusOr<const Experiment*> Find(const model::JobId& job) const;
  void Set(model::ExperimentId id, QueuePlace place) {
    order_.Put(id, place);
    places_.insert_or_assign(id, std::move(place));
  }
  const QueuePlace& GetPlace(model::ExperimentId id) const {
    const auto it = places_.find(id);
    return it == places_.end() ? s_.experiments.at(id).experiment.queue : it->second;
  }
  // FAILED_PRECONDITION if the policy of the pool ignores the update.
  absl::Status CheckPolicy(const UpdateQueue::Update& update, const std::string& pool) const;
  absl::Status MoveBeside(model::ExperimentId id, const model::JobId& other, bool ahead);
  // Renumbers the positions of the peers in steps of 1. The last position does not increase, so
  // that later jobs stay behind it.
  void Respace(const QueuePlace& place);

  const Cluster::State& s_;
  QueueOrder& order_;
  std::map<model::ExperimentId, QueuePlace> places_;
};

// Whether the pool is defined, is named by an agent, or is a default pool.
bool IsKnown(const Cluster::State& s, const std::string& pool) {
  if (FindPool(s, pool) != nullptr) return true;
  if (pool == DefaultComputePool(s) || pool == DefaultAuxPool(s)) return true;
  return std::any_of(s.agents.begin(), s.agents.end(),
                     [&](const auto& entry) { return entry.second.resource_pool == pool; });
}

absl::StatusOr<const Experiment*> Draft::Find(const model::JobId& job) const {
  const std::optional<model::ExperimentId> id = model::ParseJobId(job);
  const auto entry = id ? s_.experiments.find(*id) : s_.experiments.end();
  if (entry != s_.experiments.end()) return &entry->second.experiment;
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
  DET_ASSIGN_OR_RETURN(const Experiment* e, Find(update.job));
  const std::string& job = update.job.value();
  if (update.priority && (*update.priority < 1 || *update.priority > 99)) {
    return absl::InvalidArgumentError(
        absl::StrCat("priority ", *update.priority, " of job ", job, ": it must be from 1 to 99"));
  }
  if (update.weight && !(std::isfinite(*update.weight) && *update.weight > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("weight ", *update.weight, " of job ", job, ": it must be above 0"));
  }
  const int needs = e->config->resources.slots_per_trial;
  if (update.max_slots && *update.max_slots != 0 && *update.max_slots < needs) {
    return absl::InvalidArgumentError(absl::StrCat("max_slots ", *update.max_slots, " of job ", job,
                                                   ": each of its trials needs ", needs));
  }
  if (update.ahead_of && update.behind_of) {
    return absl::InvalidArgumentError(
        absl::StrCat("job ", job, " cannot be moved ahead of one job and behind another at once"));
  }
  QueuePlace place = GetPlace(e->id);
  const std::string pool = update.resource_pool.value_or(place.resource_pool);
  DET_RETURN_IF_ERROR(CheckPolicy(update, pool));
  if (pool != place.resource_pool) {
    if (!IsKnown(s_, pool)) {
      return absl::NotFoundError(
          absl::StrCat("job ", job, " cannot be moved: there is no resource pool \"", pool, "\""));
    }
    DET_RETURN_IF_ERROR(CheckCanRun(s_, *e->config, pool));
    place.resource_pool = pool;
  }
  if (update.priority) place.priority = *update.priority;
  if (update.weight) place.weight = *update.weight;
  if (update.max_slots) {
    place.max_slots = *update.max_slots == 0 ? std::nullopt : std::optional(*update.max_slots);
  }
  Set(e->id, std::move(place));
  if (update.ahead_of) return MoveBeside(e->id, *update.ahead_of, true);
  if (update.behind_of) return MoveBeside(e->id, *update.behind_of, false);
  return absl::OkStatus();
}

absl::Status Draft::MoveBeside(model::ExperimentId id, const model::JobId& job, bool ahead) {
  DET_ASSIGN_OR_RETURN(const Experiment* other, Find(job));
  QueuePlace place = GetPlace(id);
  const QueuePlace& beside = GetPlace(other->id);
  if (other->id == id || beside.resource_pool != place.resource_pool ||
      beside.priority != place.priority) {
    return absl::InvalidArgumentError(absl::StrCat(
        "job ", s_.experiments.at(id).experiment.job.value(),
        " can only be moved next to another job of its own pool and priority; ", job.value(),
        " is in pool ", beside.resource_pool, " with priority ", beside.priority));
  }
  order_.Remove(id);
  std::optional<double> position = order_.Beside(other->id, ahead);
  if (!position) {
    Respace(place);
    position = order_.Beside(other->id, ahead);
  }
  place.position = *position;
  place.position_set = true;
  Set(id, std::move(place));
  return absl::OkStatus();
}

void Draft::Respace(const QueuePlace& place) {
  const QueueOrder::Peers peers = order_.GetPeers(place);
  double position = std::floor(peers.rbegin()->first) - static_cast<double>(peers.size());
  for (const auto& [unused, id] : peers) {
    QueuePlace moved = GetPlace(id);
    moved.position = ++position;
    Set(id, std::move(moved));
  }
}

void Draft::Undo() {
  for (const auto& [id, unused] : places_) order_.Put(id, s_.experiments.at(id).experiment.queue);
}

void SetPlace(Step& step, Entry& entry, const QueuePlace& place) {
  Experiment& e = entry.experiment;
  const bool moves = place.resource_pool != e.queue.resource_pool;
  e.queue = place;
  step.TouchJob(e);
  step.Replan();
  if (!moves) return;
  for (const auto& [request, id] : entry.trials) {
    const experiment::Trial& trial = step.s.trials.at(id);
    const auto it =
        trial.allocation ? step.s.allocations.find(*trial.allocation) : step.s.allocations.end();
    if (it == step.s.allocations.end()) continue;
    if (it->second.state == model::AllocationState::kQueued) {
      it->second.resource_pool = place.resource_pool;
      step.Touch(it->second);
    } else {
      Preempt(step, it->second,
              absl::StrCat("its experiment was moved to resource pool ", place.resource_pool));
    }
  }
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
  for (const auto& [id, place] : draft.changed()) {
    Entry& entry = step.s.experiments.at(id);
    if (!(entry.experiment.queue == place)) SetPlace(step, entry, place);
  }
  return step.Finish();
}

experiment::QueuePlace MakePlace(const Cluster::State& s, const model::ExperimentConfig& config,
                                 model::ExperimentId id) {
  const model::ResourcesConfig& resources = config.resources;
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
  place.position = id.value();
  return place;
}

}  // namespace det::cluster
