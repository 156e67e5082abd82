#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/job.unary.h"
#include "google/protobuf/util/json_util.h"
#include "master/api/common/convert.h"
#include "master/api/common/convert_resources.h"
#include "master/api/policies/config_policy.h"
#include "master/api/queue/queue_view.h"
#include "master/api/queue/runtime_stats.h"
#include "master/api/queue/services.h"
#include "master/api/rpc/api_service.h"
#include "master/core/model/id_text.h"
#include "master/core/scheduler/estimate.h"
#include "master/core/scheduler/json/snapshot_json.h"

namespace det::api {
namespace {

bool HasPool(const cluster::Cluster& cluster, const std::string& name) {
  const std::vector<cluster::KnownPool> pools = cluster.pools();
  return std::any_of(pools.begin(), pools.end(),
                     [&](const cluster::KnownPool& view) { return view.pool.name == name; });
}

absl::Status ListJobs(const cluster::Cluster& cluster, const v1::GetJobsRequest& request,
                      const auth::Principal& caller, std::vector<v1::Job>* jobs,
                      v1::Pagination* pagination) {
  const std::string& pool =
      request.resource_pool().empty() ? cluster.default_compute() : request.resource_pool();
  if (!HasPool(cluster, pool)) return NoSuchPool(cluster, pool);
  for (QueuedJob& queued : GetQueue(cluster, pool)) {
    const auto& states = request.states();
    const bool matches = states.empty() ||
                         std::count(states.begin(), states.end(), queued.job.summary().state()) > 0;
    if (matches &&
        caller.Holds(model::Permission::kViewExperimentMetadata, queued.job.workspace_id()))
      jobs->push_back(std::move(queued.job));
  }
  if (request.order_by() == v1::GetJobsRequest::ORDER_BY_DESC) {
    std::reverse(jobs->begin(), jobs->end());
  }
  const int total = static_cast<int>(jobs->size());
  const int limit = request.limit() == 0 ? kDefaultPage : request.limit();
  const store::Range range = store::Resolve(ToWindow(request.offset(), limit), total);
  jobs->erase(jobs->begin() + range.end, jobs->end());
  jobs->erase(jobs->begin(), jobs->begin() + range.begin);
  *pagination = ToPagination(request.offset(), limit, static_cast<int>(jobs->size()), total);
  return absl::OkStatus();
}

void FillStats(const cluster::Cluster& cluster, const v1::GetJobQueueStatsRequest& request,
               v1::GetJobQueueStatsResponse* response) {
  const std::set<std::string> requested(request.resource_pools().begin(),
                                        request.resource_pools().end());
  for (v1::ResourcePool& pool : ListPools(cluster)) {
    if (!requested.empty() && !requested.contains(pool.name())) continue;
    v1::RPQueueStat* out = response->add_results();
    out->set_resource_pool(pool.name());
    *out->mutable_stats() = std::move(*pool.mutable_stats());
  }
}

// The data for an explanation, copied on the engine's loop.
struct ExplainInput {
  std::optional<QueuedJob> job;
  scheduler::Snapshot snapshot;
};

void KeepOnlyPool(const std::string& pool, scheduler::Snapshot* snapshot) {
  std::erase_if(snapshot->pools, [&](const auto& other) { return other.name != pool; });
  std::erase_if(snapshot->nodes, [&](const auto& node) { return node.resource_pool != pool; });
  // Keep gangs that run in other pools: they count against quotas and max_slots.
  std::erase_if(snapshot->gangs, [&](const scheduler::Gang& gang) {
    return gang.resource_pool != pool && gang.running_on.empty();
  });
}

void FillEstimates(const ExplainInput& input,
                   const std::map<model::AllocationId, scheduler::Estimate>& estimates,
                   v1::ExplainJobResponse* response) {
  *response->mutable_job() = input.job->job;
  for (const WaitingGang& gang : input.job->waiting) {
    v1::ExplainJobResponse::Waiting* out = response->add_waiting();
    out->set_allocation_id(gang.allocation.value());
    out->set_trial_id(gang.trial.value());
    if (gang.reason) {
      const std::string_view kind = scheduler::ToString(gang.reason->kind);
      out->set_kind(std::string(kind));
      out->set_reason(gang.reason->text);
    }
    const auto it = estimates.find(gang.allocation);
    if (it == estimates.end()) continue;
    for (const model::AllocationId& id : it->second.after) out->add_waits_for(id.value());
    if (it->second.start) *out->mutable_estimated_start() = ToProto(*it->second.start);
    out->set_estimate_basis(it->second.basis);
  }
}

class JobService final : public ApiService<v1::JobService> {
 public:
  JobService(CallPipeline& calls, engine::Engine& engine, store::Store& store,
             base::ThreadPool& pool, const base::Clock& clock, bool strict_queue)
      : ApiService(calls),
        engine_(engine),
        store_(store),
        pool_(pool),
        clock_(clock),
        strict_queue_(strict_queue) {}

  grpc::ServerUnaryReactor* GetJobs(grpc::CallbackServerContext* context,
                                    const v1::GetJobsRequest* request,
                                    v1::GetJobsResponse* response) override {
    return ServeJobs(context, __func__, *request, response, [response](std::vector<v1::Job> jobs) {
      for (v1::Job& job : jobs) *response->add_jobs() = std::move(job);
    });
  }

  grpc::ServerUnaryReactor* GetJobsV2(grpc::CallbackServerContext* context,
                                      const v1::GetJobsRequest* request,
                                      v1::GetJobsV2Response* response) override {
    return ServeJobs(context, __func__, *request, response, [response](std::vector<v1::Job> jobs) {
      for (v1::Job& job : jobs) {
        *response->add_jobs()->mutable_full() = std::move(job);
      }
    });
  }

  grpc::ServerUnaryReactor* GetJobQueueStats(grpc::CallbackServerContext* context,
                                             const v1::GetJobQueueStatsRequest* request,
                                             v1::GetJobQueueStatsResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   engine_.Query(
                       [request, response](const cluster::Cluster& cluster) {
                         FillStats(cluster, *request, response);
                       },
                       std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* UpdateJobQueue(grpc::CallbackServerContext* context,
                                           const v1::UpdateJobQueueRequest* request,
                                           v1::UpdateJobQueueResponse* response) override {
    return Unary(
        __func__, context, request, response,
        [this, request](const auth::Principal& caller, Done done) {
          if (strict_queue_ && !caller.Holds(model::Permission::kControlStrictJobQueue, 0)) {
            return done(
                absl::PermissionDeniedError("only administrators may change the queue "
                                            "(security.authz.strict_job_queue_control); ask one"));
          }
          Update(*request, std::move(done));
        });
  }

  grpc::ServerUnaryReactor* ExplainJob(grpc::CallbackServerContext* context,
                                       const v1::ExplainJobRequest* request,
                                       v1::ExplainJobResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   Explain(request->job_id(), response, std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* GetSchedulerSnapshot(
      grpc::CallbackServerContext* context, const v1::GetSchedulerSnapshotRequest* request,
      v1::GetSchedulerSnapshotResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   Dump(request->resource_pool(), response, std::move(done));
                 });
  }

 private:
  template <class Response>
  grpc::ServerUnaryReactor* ServeJobs(grpc::CallbackServerContext* context, const char* method,
                                      const v1::GetJobsRequest& request, Response* response,
                                      std::function<void(std::vector<v1::Job>)> fill) {
    return Unary(
        method, context, &request, response,
        [this, &request, pagination = response->mutable_pagination(), fill = std::move(fill)](
            const auth::Principal& caller, Done done) {
          auto result = std::make_shared<absl::Status>();
          engine_.Query(
              [&request, caller, pagination, fill, result](const cluster::Cluster& cluster) {
                std::vector<v1::Job> jobs;
                *result = ListJobs(cluster, request, caller, &jobs, pagination);
                fill(std::move(jobs));
              },
              [result, done = std::move(done)](absl::Status status) mutable {
                done(status.ok() ? *result : std::move(status));
              });
        });
  }

  void Update(const v1::UpdateJobQueueRequest& request, Done done) {
    auto event = std::make_shared<absl::StatusOr<cluster::UpdateQueue>>();
    engine_.Query(
        [&request, event](const cluster::Cluster& cluster) {
          *event = ToUpdateQueue(cluster, request);
        },
        [this, event, done = std::move(done)](const absl::Status& status) mutable {
          if (!status.ok()) return done(status);
          if (!event->ok()) return done(event->status());
          pool_.Post([this, event, done = std::move(done)]() mutable {
            absl::Status allowed = CheckQueueUpdate(store_, **event);
            if (!allowed.ok()) return done(std::move(allowed));
            SubmitAndFinish(engine_, **std::move(event), std::move(done));
          });
        });
  }

  void Explain(const std::string& job, v1::ExplainJobResponse* response, Done done) {
    auto input = std::make_shared<ExplainInput>();
    engine_.Query(
        [job, input, now = clock_.Now()](const cluster::Cluster& cluster) {
          const experiment::Experiment* e = FindJob(cluster, job);
          if (e == nullptr) return;
          input->job = FindQueuedJob(cluster, *e);
          if (!input->job || input->job->waiting.empty()) return;
          input->snapshot = cluster.scheduler().Dump(now);
        },
        [this, job, input, response, done = std::move(done)](const absl::Status& status) mutable {
          if (!status.ok()) return done(status);
          pool_.Post([this, job, input, response, done = std::move(done)]() mutable {
            done(input->job ? FillExplanation(*input, response) : MakeAbsentError(job));
          });
        });
  }

  absl::Status FillExplanation(ExplainInput& input, v1::ExplainJobResponse* response) {
    std::vector<model::AllocationId> gangs;
    for (const WaitingGang& gang : input.job->waiting) gangs.push_back(gang.allocation);
    if (gangs.empty()) {
      FillEstimates(input, {}, response);
      return absl::OkStatus();
    }
    // An explanation occupies a thread of the pool: only one may run at a time.
    static std::mutex one_at_a_time;
    const std::unique_lock lock(one_at_a_time, std::try_to_lock);
    if (!lock.owns_lock()) {
      return absl::ResourceExhaustedError(
          "another ExplainJob call is running; retry in a few seconds");
    }
    KeepOnlyPool(input.job->job.resource_pool(), &input.snapshot);
    DET_ASSIGN_OR_RETURN(const scheduler::RuntimeStats stats,
                         ReadRuntimeStats(store_, input.snapshot));
    FillEstimates(input, scheduler::EstimateStarts(input.snapshot, stats, gangs), response);
    return absl::OkStatus();
  }

  // Returns why the job is not in the queue: it has ended, is paused, or does not exist.
  absl::Status MakeAbsentError(const std::string& job) {
    int32_t number = 0;
    const std::optional<model::ExperimentId> id = absl::SimpleAtoi(job, &number)
                                                      ? std::optional(model::ExperimentId(number))
                                                      : model::ParseJobId(model::JobId(job));
    if (id) {
      const auto record = store_.GetExperiment(*id);
      if (!record.ok() && !absl::IsNotFound(record.status())) return record.status();
      if (record.ok()) {
        return absl::FailedPreconditionError(
            absl::StrCat("experiment ", id->value(), " is ",
                         std::string(model::ToString(record->experiment.state)),
                         ": none of its trials holds slots or waits for them"));
      }
    }
    return absl::NotFoundError(absl::StrCat("job \"", job, "\" not found"));
  }

  void Dump(const std::string& pool, v1::GetSchedulerSnapshotResponse* response, Done done) {
    auto snapshot = std::make_shared<absl::StatusOr<scheduler::Snapshot>>();
    engine_.Query(
        [pool, snapshot, now = clock_.Now()](const cluster::Cluster& cluster) {
          if (!pool.empty() && !HasPool(cluster, pool)) {
            *snapshot = NoSuchPool(cluster, pool);
          } else {
            *snapshot = cluster.scheduler().Dump(now);
          }
        },
        [this, pool, snapshot, response, done = std::move(done)](const absl::Status& s) mutable {
          if (!s.ok()) return done(s);
          pool_.Post([pool, snapshot, response, done = std::move(done)]() mutable {
            if (!snapshot->ok()) return done(snapshot->status());
            if (!pool.empty()) KeepOnlyPool(pool, &**snapshot);
            const auto parsed = google::protobuf::util::JsonStringToMessage(
                scheduler::ToJson(**snapshot), response->mutable_snapshot());
            done(parsed.ok()
                     ? absl::OkStatus()
                     : absl::InternalError("cannot convert the scheduler snapshot to JSON"));
          });
        });
  }

  engine::Engine& engine_;
  store::Store& store_;
  base::ThreadPool& pool_;
  const base::Clock& clock_;
  const bool strict_queue_;
};

}  // namespace

std::unique_ptr<Service> MakeJobService(CallPipeline& calls, engine::Engine& engine,
                                        store::Store& store, base::ThreadPool& pool,
                                        const base::Clock& clock, bool strict_queue) {
  return std::make_unique<JobService>(calls, engine, store, pool, clock, strict_queue);
}

}  // namespace det::api
