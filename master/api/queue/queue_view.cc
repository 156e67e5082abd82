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

// The engine's loop applies all updates of a request in one step.
constexpr int kMaxUpdates = 500;

using experiment::Allocation;
using experiment::Experiment;
using model::SchedulingPolicy;

// The live allocations of one experiment, or of one other task.
struct JobDraft {
  const Experiment* experiment = nullptr;    // null: `task`
  const experiment::Task* task = nullptr;    // not a trial; null: `experiment`
  int requested = 0;
  int allocated = 0;
  bool backfilled = false;
  std::vector<const Allocation*> waiting;

  const experiment::QueuePlace& place() const {
    return experiment != nullptr ? experiment->queue : task->queue;
  }
};

v1::JobSummary::State GetState(bool waits, bool backfilled) {
  if (waits) return v1::JobSummary::STATE_QUEUED;
  return backfilled ? v1::JobSummary::STATE_SCHEDULED_BACKFILLED : v1::JobSummary::STATE_SCHEDULED;
}

void AddAllocation(const cluster::Cluster& cluster, const Allocation& allocation, JobDraft* job) {
  int held = 0;
  bool placed = false;
  for (const experiment::LocalTask& local_task : allocation.local_tasks) {
    if (local_task.exited) continue;
    placed = true;
    held += static_cast<int>(local_task.placement.slots.size());
  }
  job->requested += std::max(allocation.slots, held);
  job->allocated += held;
  job->backfilled = job->backfilled || cluster.IsBackfilled(allocation.id);
  if (!placed && allocation.state == model::AllocationState::kQueued) {
    job->waiting.push_back(&allocation);
  }
}

std::map<model::JobId, JobDraft> CollectJobs(const cluster::Cluster& cluster,
                                             const std::string& pool) {
  std::map<model::JobId, JobDraft> jobs;
  // There may be a hundred thousand allocations. Those of one experiment mostly follow each other,
  // so the job is looked up only when it changes.
  const Allocation* previous = nullptr;
  JobDraft* job = nullptr;
  for (const Allocation* allocation : cluster.live_allocations()) {
    if (previous == nullptr || previous->job != allocation->job) {
      JobDraft found;
      if (experiment::IsTrial(*allocation)) {
        const experiment::Trial* trial = cluster.FindTrial(allocation->trial);
        if (trial != nullptr) found.experiment = cluster.FindExperiment(trial->experiment);
      } else {
        found.task = cluster.FindTask(allocation->task);
      }
      const bool known = found.experiment != nullptr || found.task != nullptr;
      const bool in_pool = known && found.place().resource_pool == pool;
      job = in_pool ? &jobs.emplace(allocation->job, found).first->second : nullptr;
    }
    previous = allocation;
    if (job != nullptr) AddAllocation(cluster, *allocation, job);
  }
  return jobs;
}

SchedulingPolicy GetPolicy(const cluster::Cluster& cluster, const std::string& pool) {
  for (const cluster::KnownPool& view : cluster.pools()) {
    if (view.pool.name == pool) return view.pool.policy;
  }
  return SchedulingPolicy::kPriority;
}

// With fair share, jobs that only run come after jobs that wait: they have no order among each
// other.
std::vector<const JobDraft*> SortJobs(const std::map<model::JobId, JobDraft>& jobs,
                                      SchedulingPolicy policy,
                                      const std::map<model::AllocationId, size_t>& served) {
  const auto first_wait = [&](const JobDraft& job) {
    size_t first = served.size();
    for (const Allocation* allocation : job.waiting) {
      const auto it = served.find(allocation->id);
      if (it != served.end()) first = std::min(first, it->second);
    }
    return first;
  };
  std::map<std::tuple<double, double, model::JobId>, const JobDraft*> order;
  for (const auto& [id, job] : jobs) {
    const experiment::QueuePlace& place = job.place();
    const double major = policy == SchedulingPolicy::kPriority    ? place.priority
                         : policy == SchedulingPolicy::kFairShare ? double(first_wait(job))
                                                                  : 0;
    const double minor = policy == SchedulingPolicy::kFairShare ? 0 : place.position;
    order.emplace(std::tuple(major, minor, id), &job);
  }
  std::vector<const JobDraft*> sorted;
  for (const auto& [unused, job] : order) sorted.push_back(job);
  return sorted;
}

v1::Job::Type ToType(model::TaskKind kind) {
  switch (kind) {
    case model::TaskKind::kTrial:
      return v1::Job::TYPE_EXPERIMENT;
    case model::TaskKind::kCommand:
      return v1::Job::TYPE_COMMAND;
    case model::TaskKind::kNotebook:
      return v1::Job::TYPE_NOTEBOOK;
    case model::TaskKind::kShell:
      return v1::Job::TYPE_SHELL;
    case model::TaskKind::kTensorboard:
      return v1::Job::TYPE_TENSORBOARD;
    case model::TaskKind::kGeneric:
      return v1::Job::TYPE_GENERIC;
  }
  return v1::Job::TYPE_UNSPECIFIED;
}

void Describe(const experiment::Task& task, v1::Job& out) {
  out.set_job_id(experiment::GetJob(task).value());
  out.set_type(ToType(task.kind));
  *out.mutable_submission_time() = ToProto(task.created_at);
  out.set_username(task.owner_name);
  out.set_user_id(task.owner.value());
  out.set_is_preemptible(task.definition->preemptible);
  out.set_entity_id(task.id.value());
  out.set_name(task.definition->description);
  out.set_workspace(task.workspace_name);
  out.set_workspace_id(task.workspace);
}

void Describe(const Experiment& e, v1::Job& out) {
  out.set_job_id(e.job.value());
  out.set_type(v1::Job::TYPE_EXPERIMENT);
  *out.mutable_submission_time() = ToProto(e.created_at);
  out.set_username(experiment::OwnerName(e));
  out.set_user_id(e.owner.value());
  out.set_is_preemptible(true);
  out.set_entity_id(absl::StrCat(e.id.value()));
  out.set_name(e.config->name);
  out.set_progress(static_cast<float>(e.progress));
  out.set_workspace(e.config->workspace);
  out.set_workspace_id(e.workspace);
}

v1::Job ToJob(const JobDraft& job) {
  v1::Job out;
  if (job.experiment != nullptr) {
    Describe(*job.experiment, out);
  } else {
    Describe(*job.task, out);
  }
  const experiment::QueuePlace& place = job.place();
  out.set_resource_pool(place.resource_pool);
  out.set_priority(place.priority);
  out.set_weight(place.weight);
  out.set_requested_slots(job.requested);
  out.set_allocated_slots(job.allocated);
  const bool waits = job.waiting.size() > 0 && job.allocated == 0;
  out.mutable_summary()->set_state(GetState(waits, job.backfilled));
  return out;
}

std::optional<model::JobId> ResolveJob(const cluster::Cluster& cluster, const std::string& text) {
  const LiveJob job = FindJob(cluster, text);
  if (job.experiment != nullptr) return job.experiment->job;
  if (job.task != nullptr) return experiment::GetJob(*job.task);
  return std::nullopt;
}

QueuedJob ToQueued(const cluster::Cluster& cluster, const JobDraft& job, int jobs_ahead) {
  QueuedJob out{.job = ToJob(job), .waiting = {}};
  out.job.mutable_summary()->set_jobs_ahead(jobs_ahead);
  for (const Allocation* allocation : job.waiting) {
    out.waiting.push_back(
        {allocation->id, allocation->trial, cluster.FindWaitReason(allocation->id)});
  }
  if (!out.waiting.empty() && out.waiting[0].reason)
    out.job.set_reason(out.waiting[0].reason->text);
  return out;
}

// Builds the queue of the pool; with `only`, just the entry of that job.
std::vector<QueuedJob> BuildQueue(const cluster::Cluster& cluster, const std::string& pool,
                                  const model::JobId* only) {
  const SchedulingPolicy policy = GetPolicy(cluster, pool);
  // With fair share, only the scheduler knows the order; with other policies, it follows from
  // priorities and positions.
  const bool ordered = policy != SchedulingPolicy::kFairShare;
  std::map<model::AllocationId, size_t> served;
  if (!ordered) {
    for (const model::AllocationId& id : cluster.scheduler().Queue(pool)) {
      served.emplace(id, served.size());
    }
  }
  std::map<model::JobId, JobDraft> jobs = CollectJobs(cluster, pool);
  std::vector<QueuedJob> queue;
  int ahead = 0;
  for (const JobDraft* job : SortJobs(jobs, policy, served)) {
    const int place = ordered ? ahead++ : -1;
    const model::JobId id =
        job->experiment != nullptr ? job->experiment->job : experiment::GetJob(*job->task);
    if (only != nullptr && id != *only) continue;
    const auto rank = [&](const Allocation* a) {
      const auto it = served.find(a->id);
      return std::pair(it == served.end() ? served.size() : it->second, a->submitted);
    };
    std::vector<const Allocation*>& waiting = jobs.at(id).waiting;
    std::sort(waiting.begin(), waiting.end(),
              [&](const Allocation* a, const Allocation* b) { return rank(a) < rank(b); });
    queue.push_back(ToQueued(cluster, *job, place));
  }
  return queue;
}

absl::Status MakeNotInQueueError(const std::string& job) {
  return absl::NotFoundError(
      absl::StrCat("job \"", job, "\" is not in the queue; list the queue with `det job list`"));
}

}  // namespace

std::vector<QueuedJob> GetQueue(const cluster::Cluster& cluster, const std::string& pool) {
  return BuildQueue(cluster, pool, nullptr);
}

std::optional<QueuedJob> FindQueuedJob(const cluster::Cluster& cluster, const LiveJob& job) {
  const model::JobId id =
      job.experiment != nullptr ? job.experiment->job : experiment::GetJob(*job.task);
  const experiment::QueuePlace& place =
      job.experiment != nullptr ? job.experiment->queue : job.task->queue;
  std::vector<QueuedJob> found = BuildQueue(cluster, place.resource_pool, &id);
  if (found.empty()) return std::nullopt;
  return std::move(found[0]);
}

std::optional<v1::JobSummary> GetJobSummary(const cluster::Cluster& cluster,
                                            model::ExperimentId id) {
  const Experiment* experiment = cluster.FindExperiment(id);
  const std::vector<const Allocation*> live =
      experiment == nullptr ? std::vector<const Allocation*>() : cluster.live_allocations(id);
  if (live.empty()) return std::nullopt;
  const SchedulingPolicy policy = GetPolicy(cluster, experiment->queue.resource_pool);
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
  out.set_state(GetState(waits, backfilled));
  int ahead = 0;
  for (const Experiment* other : cluster.live_experiments()) {
    if (other->queue.resource_pool != experiment->queue.resource_pool) continue;
    if (key(*other) < key(*experiment) && cluster.HasAllocations(other->id)) ++ahead;
  }
  out.set_jobs_ahead(policy == SchedulingPolicy::kFairShare ? -1 : ahead);
  return out;
}

LiveJob FindJob(const cluster::Cluster& cluster, const std::string& text) {
  LiveJob job;
  int32_t id = 0;
  if (absl::SimpleAtoi(text, &id)) {
    job.experiment = cluster.FindExperiment(model::ExperimentId(id));
  } else if (const auto parsed = model::ParseJobId(model::JobId(text))) {
    job.experiment = cluster.FindExperiment(*parsed);
  } else {
    job.task = cluster.FindTask(model::TaskId(text));
  }
  return job;
}

absl::StatusOr<cluster::UpdateQueue> ToUpdateQueue(const cluster::Cluster& cluster,
                                                   const v1::UpdateJobQueueRequest& request) {
  using Action = v1::QueueControl::ActionCase;
  if (request.updates_size() > kMaxUpdates) {
    return absl::InvalidArgumentError(absl::StrCat("updates: ", request.updates_size(),
                                                   " in one request; the limit is ", kMaxUpdates));
  }
  cluster::UpdateQueue event;
  for (const v1::QueueControl& control : request.updates()) {
    const std::optional<model::JobId> job = ResolveJob(cluster, control.job_id());
    if (!job) return MakeNotInQueueError(control.job_id());
    cluster::UpdateQueue::Update& update = event.updates.emplace_back();
    update.job = *job;
    switch (control.action_case()) {
      case Action::kPriority:
        update.priority = control.priority();
        break;
      case Action::kWeight:
        // Converts the float through text, so that 0.1 stays 0.1 and does not become 0.100000001.
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
        if (!update.ahead_of) return MakeNotInQueueError(control.ahead_of());
        break;
      case Action::kBehindOf:
        update.behind_of = ResolveJob(cluster, control.behind_of());
        if (!update.behind_of) return MakeNotInQueueError(control.behind_of());
        break;
      case Action::ACTION_NOT_SET:
        return absl::InvalidArgumentError(absl::StrCat(
            "job ", control.job_id(),
            ": the update changes nothing; set one of priority, weight, max_slots, resource_pool, "
            "ahead_of, behind_of"));
    }
  }
  return event;
}

}  // namespace det::api
