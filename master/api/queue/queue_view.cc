#include "master/api/queue/queue_view.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/api/common/convert.h"
#include "master/core/model/id_text.h"

namespace det::api {
namespace {

// All in one step of the cluster's loop.
constexpr int kMostUpdates = 500;

using experiment::Allocation;
using experiment::Experiment;
using model::SchedulingPolicy;

// A job on its way into the view.
struct Draft {
  const Experiment* experiment = nullptr;
  int requested = 0;
  int allocated = 0;
  bool backfilled = false;
  std::vector<const Allocation*> waiting;
};

v1::JobSummary::State StateOf(bool waits, bool backfilled) {
  if (waits) return v1::JobSummary::STATE_QUEUED;
  return backfilled ? v1::JobSummary::STATE_SCHEDULED_BACKFILLED : v1::JobSummary::STATE_SCHEDULED;
}

void AddAllocation(const cluster::Cluster& cluster, const Allocation& allocation, Draft* draft) {
  int held = 0;
  bool placed = false;
  for (const experiment::Share& share : allocation.shares) {
    if (share.exited) continue;
    placed = true;
    held += static_cast<int>(share.placement.slots.size());
  }
  draft->requested += std::max(allocation.slots, held);
  draft->allocated += held;
  draft->backfilled = draft->backfilled || cluster.IsBackfilled(allocation.id);
  if (!placed && allocation.state == model::AllocationState::kQueued) {
    draft->waiting.push_back(&allocation);
  }
}

std::map<model::ExperimentId, Draft> Gather(const cluster::Cluster& cluster,
                                            const std::string& pool) {
  std::map<model::ExperimentId, Draft> drafts;
  // Those of one experiment mostly follow each other: there may be a hundred thousand.
  const Allocation* before = nullptr;
  Draft* draft = nullptr;
  for (const Allocation* allocation : cluster.live_allocations()) {
    if (before == nullptr || before->job != allocation->job) {
      const experiment::Trial* trial = cluster.FindTrial(allocation->trial);
      const Experiment* e = trial == nullptr ? nullptr : cluster.FindExperiment(trial->experiment);
      const bool here = e != nullptr && e->queue.resource_pool == pool;
      draft = here ? &drafts[e->id] : nullptr;
      if (here) draft->experiment = e;
    }
    before = allocation;
    if (draft != nullptr) AddAllocation(cluster, *allocation, draft);
  }
  return drafts;
}

SchedulingPolicy PolicyOf(const cluster::Cluster& cluster, const std::string& pool) {
  for (const cluster::KnownPool& view : cluster.pools()) {
    if (view.pool.name == pool) return view.pool.policy;
  }
  return SchedulingPolicy::kPriority;
}

// Under fair share those that run only stand behind those that wait: there is no other order.
std::vector<const Draft*> InOrder(const std::map<model::ExperimentId, Draft>& drafts,
                                  SchedulingPolicy policy,
                                  const std::map<model::AllocationId, size_t>& served) {
  const auto first_wait = [&](const Draft& draft) {
    size_t first = served.size();
    for (const Allocation* allocation : draft.waiting) {
      const auto it = served.find(allocation->id);
      if (it != served.end()) first = std::min(first, it->second);
    }
    return first;
  };
  std::map<std::tuple<double, double, model::ExperimentId>, const Draft*> order;
  for (const auto& [id, draft] : drafts) {
    const experiment::QueuePlace& place = draft.experiment->queue;
    const double major = policy == SchedulingPolicy::kPriority    ? place.priority
                         : policy == SchedulingPolicy::kFairShare ? double(first_wait(draft))
                                                                  : 0;
    const double minor = policy == SchedulingPolicy::kFairShare ? 0 : place.position;
    order.emplace(std::tuple(major, minor, id), &draft);
  }
  std::vector<const Draft*> sorted;
  for (const auto& [unused, draft] : order) sorted.push_back(draft);
  return sorted;
}

v1::Job ToJob(const Draft& draft) {
  const Experiment& e = *draft.experiment;
  v1::Job out;
  out.set_job_id(e.job.value());
  out.set_type(v1::Job::TYPE_EXPERIMENT);
  *out.mutable_submission_time() = ToProto(e.created_at);
  out.set_username(experiment::OwnerName(e));
  out.set_user_id(e.owner.value());
  out.set_resource_pool(e.queue.resource_pool);
  out.set_is_preemptible(true);
  out.set_priority(e.queue.priority);
  out.set_weight(e.queue.weight);
  out.set_entity_id(absl::StrCat(e.id.value()));
  out.set_name(e.config->name);
  out.set_requested_slots(draft.requested);
  out.set_allocated_slots(draft.allocated);
  out.set_progress(static_cast<float>(e.progress));
  out.set_workspace(e.config->workspace);
  out.set_workspace_id(e.workspace);
  const bool waits = draft.waiting.size() > 0 && draft.allocated == 0;
  out.mutable_summary()->set_state(StateOf(waits, draft.backfilled));
  return out;
}

std::optional<model::JobId> ResolveJob(const cluster::Cluster& cluster, const std::string& text) {
  const Experiment* e = FindJob(cluster, text);
  if (e == nullptr) return std::nullopt;
  return e->job;
}

QueuedJob ToQueued(const cluster::Cluster& cluster, const Draft& draft, int jobs_ahead) {
  QueuedJob out{.job = ToJob(draft), .waiting = {}};
  out.job.mutable_summary()->set_jobs_ahead(jobs_ahead);
  for (const Allocation* allocation : draft.waiting) {
    out.waiting.push_back(
        {allocation->id, allocation->trial, cluster.FindWaitReason(allocation->id)});
  }
  if (!out.waiting.empty() && out.waiting[0].reason)
    out.job.set_reason(out.waiting[0].reason->text);
  return out;
}

// All of the pool's, or `only` that.
std::vector<QueuedJob> View(const cluster::Cluster& cluster, const std::string& pool,
                            const Experiment* only) {
  const SchedulingPolicy policy = PolicyOf(cluster, pool);
  // Where a share decides, the scheduler alone knows the order; elsewhere it is in the rows.
  const bool ordered = policy != SchedulingPolicy::kFairShare;
  std::map<model::AllocationId, size_t> served;
  if (!ordered) {
    for (const model::AllocationId& id : cluster.scheduler().Queue(pool)) {
      served.emplace(id, served.size());
    }
  }
  std::map<model::ExperimentId, Draft> drafts = Gather(cluster, pool);
  std::vector<QueuedJob> queue;
  int ahead = 0;
  for (const Draft* draft : InOrder(drafts, policy, served)) {
    const int place = ordered ? ahead++ : -1;
    if (only != nullptr && draft->experiment != only) continue;
    const auto rank = [&](const Allocation* a) {
      const auto it = served.find(a->id);
      return std::pair(it == served.end() ? served.size() : it->second, a->submitted);
    };
    std::vector<const Allocation*>& waiting = drafts.at(draft->experiment->id).waiting;
    std::sort(waiting.begin(), waiting.end(),
              [&](const Allocation* a, const Allocation* b) { return rank(a) < rank(b); });
    queue.push_back(ToQueued(cluster, *draft, place));
  }
  return queue;
}

absl::Status NotInQueue(const std::string& job) {
  return absl::NotFoundError(
      absl::StrCat("job \"", job, "\" is not in the queue; `det job list` shows those that are"));
}

}  // namespace

std::vector<QueuedJob> QueueOf(const cluster::Cluster& cluster, const std::string& pool) {
  return View(cluster, pool, nullptr);
}

std::optional<QueuedJob> QueuedJobOf(const cluster::Cluster& cluster, const Experiment& job) {
  std::vector<QueuedJob> found = View(cluster, job.queue.resource_pool, &job);
  if (found.empty()) return std::nullopt;
  return std::move(found[0]);
}

std::optional<v1::JobSummary> PlaceOf(const cluster::Cluster& cluster, model::ExperimentId id) {
  const Experiment* mine = cluster.FindExperiment(id);
  const std::vector<const Allocation*> live =
      mine == nullptr ? std::vector<const Allocation*>() : cluster.live_allocations(id);
  if (live.empty()) return std::nullopt;
  const SchedulingPolicy policy = PolicyOf(cluster, mine->queue.resource_pool);
  const auto key = [policy](const Experiment& e) {
    const int priority = policy == SchedulingPolicy::kPriority ? e.queue.priority : 0;
    return std::tuple(priority, e.queue.position, e.id);
  };
  const bool waits = std::all_of(live.begin(), live.end(), [](const Allocation* a) {
    return a->state == model::AllocationState::kQueued;
  });
  v1::JobSummary out;
  const bool backfilled = std::any_of(
      live.begin(), live.end(), [&](const Allocation* a) { return cluster.IsBackfilled(a->id); });
  out.set_state(StateOf(waits, backfilled));
  int ahead = 0;
  for (const Experiment* other : cluster.live_experiments()) {
    if (other->queue.resource_pool != mine->queue.resource_pool) continue;
    if (key(*other) < key(*mine) && cluster.HasAllocations(other->id)) ++ahead;
  }
  out.set_jobs_ahead(policy == SchedulingPolicy::kFairShare ? -1 : ahead);
  return out;
}

const Experiment* FindJob(const cluster::Cluster& cluster, const std::string& text) {
  int32_t id = 0;
  if (absl::SimpleAtoi(text, &id)) return cluster.FindExperiment(model::ExperimentId(id));
  const std::optional<model::ExperimentId> of_job = model::ExperimentOf(model::JobId(text));
  return of_job ? cluster.FindExperiment(*of_job) : nullptr;
}

absl::StatusOr<cluster::UpdateQueue> ToUpdates(const cluster::Cluster& cluster,
                                               const v1::UpdateJobQueueRequest& request) {
  using Action = v1::QueueControl::ActionCase;
  if (request.updates_size() > kMostUpdates) {
    return absl::InvalidArgumentError(absl::StrCat("updates: ", request.updates_size(),
                                                   " at once; ", kMostUpdates, " are the most"));
  }
  cluster::UpdateQueue event;
  for (const v1::QueueControl& control : request.updates()) {
    const std::optional<model::JobId> job = ResolveJob(cluster, control.job_id());
    if (!job) return NotInQueue(control.job_id());
    cluster::UpdateQueue::Update& update = event.updates.emplace_back();
    update.job = *job;
    switch (control.action_case()) {
      case Action::kPriority:
        update.priority = control.priority();
        break;
      case Action::kWeight:
        // As it was written, 0.1 and not 0.100000001.
        if (double weight = 0; absl::SimpleAtod(absl::StrCat(control.weight()), &weight)) {
          update.weight = weight;
        }
        break;
      case Action::kMaxSlots:
        update.max_slots = control.max_slots();
        break;
      case Action::kResourcePool:
        update.resource_pool = control.resource_pool();
        break;
      case Action::kAheadOf:
        update.ahead_of = ResolveJob(cluster, control.ahead_of());
        if (!update.ahead_of) return NotInQueue(control.ahead_of());
        break;
      case Action::kBehindOf:
        update.behind_of = ResolveJob(cluster, control.behind_of());
        if (!update.behind_of) return NotInQueue(control.behind_of());
        break;
      case Action::ACTION_NOT_SET:
        return absl::InvalidArgumentError(absl::StrCat(
            "job ", control.job_id(),
            ": nothing to change; give one of priority, weight, max_slots, resource_pool, "
            "ahead_of, behind_of"));
    }
  }
  return event;
}

}  // namespace det::api
