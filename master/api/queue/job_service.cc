#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/job.pb.h"
#include "google/protobuf/util/json_util.h"
#include "master/api/common/convert.h"
#include "master/api/common/convert_resources.h"
#include "master/api/policies/config_policy.h"
#include "master/api/queue/queue_view.h"
#include "master/api/queue/runtime_stats.h"
#include "master/api/queue/services.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
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
  for (QueuedJob& each : QueueOf(cluster, pool)) {
    const auto& states = request.states();
    const bool wanted =
        states.empty() || std::count(states.begin(), states.end(), each.job.summary().state()) > 0;
    if (wanted && caller.Sees(each.job.workspace_id())) jobs->push_back(std::move(each.job));
  }
  if (request.order_by() == v1::GetJobsRequest::ORDER_BY_DESC) {
    std::reverse(jobs->begin(), jobs->end());
  }
  const int total = static_cast<int>(jobs->size());
  const store::Range range = store::Resolve(ToWindow(request.offset(), request.limit()), total);
  jobs->erase(jobs->begin() + range.end, jobs->end());
  jobs->erase(jobs->begin(), jobs->begin() + range.begin);
  *pagination =
      ToPagination(request.offset(), request.limit(), static_cast<int>(jobs->size()), total);
  return absl::OkStatus();
}

void Stats(const cluster::Cluster& cluster, const v1::GetJobQueueStatsRequest& request,
           v1::GetJobQueueStatsResponse* response) {
  const std::set<std::string> wanted(request.resource_pools().begin(),
                                     request.resource_pools().end());
  for (v1::ResourcePool& pool : ListPools(cluster)) {
    if (!wanted.empty() && !wanted.contains(pool.name())) continue;
    v1::RPQueueStat* out = response->add_results();
    out->set_resource_pool(pool.name());
    *out->mutable_stats() = std::move(*pool.mutable_stats());
  }
}

// What the loop tells of a job that is to be explained.
struct AskedEstimate {
  std::optional<QueuedJob> job;
  scheduler::Snapshot snapshot;
};

void KeepPool(const std::string& pool, scheduler::Snapshot* snapshot) {
  std::erase_if(snapshot->pools, [&](const auto& each) { return each.name != pool; });
  std::erase_if(snapshot->nodes, [&](const auto& each) { return each.resource_pool != pool; });
  // Those that run elsewhere count against quotas and max_slots.
  std::erase_if(snapshot->gangs, [&](const scheduler::Gang& each) {
    return each.resource_pool != pool && each.running_on.empty();
  });
}

void FillEstimates(const AskedEstimate& asked,
                   const std::map<model::AllocationId, scheduler::Estimate>& estimates,
                   v1::ExplainJobResponse* response) {
  *response->mutable_job() = asked.job->job;
  for (const WaitingGang& gang : asked.job->waiting) {
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

class JobService final : public Service {
 public:
  explicit JobService(const Edge& edge) : Service("det.api.v1.JobService"), edge_(edge) {
    Serve("GetJobs", &JobService::GetJobs);
    Serve("GetJobsV2", &JobService::GetJobsV2);
    Serve("GetJobQueueStats", &JobService::GetJobQueueStats);
    Serve("UpdateJobQueue", &JobService::UpdateJobQueue);
    Serve("ExplainJob", &JobService::ExplainJob);
    Serve("GetSchedulerSnapshot", &JobService::GetSchedulerSnapshot);
  }

  grpc::ServerUnaryReactor* GetJobs(grpc::CallbackServerContext* context,
                                    const v1::GetJobsRequest* request,
                                    v1::GetJobsResponse* response) {
    return Listed(context, "det.api.v1.JobService.GetJobs", *request,
                  response->mutable_pagination(), [response](std::vector<v1::Job> jobs) {
                    for (v1::Job& job : jobs) *response->add_jobs() = std::move(job);
                  });
  }

  grpc::ServerUnaryReactor* GetJobsV2(grpc::CallbackServerContext* context,
                                      const v1::GetJobsRequest* request,
                                      v1::GetJobsV2Response* response) {
    return Listed(context, "det.api.v1.JobService.GetJobsV2", *request,
                  response->mutable_pagination(), [response](std::vector<v1::Job> jobs) {
                    for (v1::Job& job : jobs) {
                      *response->add_jobs()->mutable_full() = std::move(job);
                    }
                  });
  }

  grpc::ServerUnaryReactor* GetJobQueueStats(grpc::CallbackServerContext* context,
                                             const v1::GetJobQueueStatsRequest* request,
                                             v1::GetJobQueueStatsResponse* response) {
    return Unary(edge_, context, request, "det.api.v1.JobService.GetJobQueueStats",
                 [this, request, response](const auth::Principal&, Done done) {
                   edge_.engine->Query(
                       [request, response](const cluster::Cluster& cluster) {
                         Stats(cluster, *request, response);
                       },
                       std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* UpdateJobQueue(grpc::CallbackServerContext* context,
                                           const v1::UpdateJobQueueRequest* request,
                                           v1::UpdateJobQueueResponse*) {
    return Unary(
        edge_, context, request, "det.api.v1.JobService.UpdateJobQueue",
        [this, request](const auth::Principal&, Done done) { Update(*request, std::move(done)); });
  }

  grpc::ServerUnaryReactor* ExplainJob(grpc::CallbackServerContext* context,
                                       const v1::ExplainJobRequest* request,
                                       v1::ExplainJobResponse* response) {
    return Unary(edge_, context, request, "det.api.v1.JobService.ExplainJob",
                 [this, request, response](const auth::Principal&, Done done) {
                   Explain(request->job_id(), response, std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* GetSchedulerSnapshot(grpc::CallbackServerContext* context,
                                                 const v1::GetSchedulerSnapshotRequest* request,
                                                 v1::GetSchedulerSnapshotResponse* response) {
    return Unary(edge_, context, request, "det.api.v1.JobService.GetSchedulerSnapshot",
                 [this, request, response](const auth::Principal&, Done done) {
                   Dump(request->resource_pool(), response, std::move(done));
                 });
  }

 private:
  grpc::ServerUnaryReactor* Listed(grpc::CallbackServerContext* context, std::string_view method,
                                   const v1::GetJobsRequest& request, v1::Pagination* pagination,
                                   std::function<void(std::vector<v1::Job>)> fill) {
    return Unary(
        edge_, context, &request, method,
        [this, &request, pagination, fill = std::move(fill)](const auth::Principal& caller,
                                                             Done done) {
          auto judged = std::make_shared<absl::Status>();
          edge_.engine->Query(
              [&request, caller, pagination, fill, judged](const cluster::Cluster& cluster) {
                std::vector<v1::Job> jobs;
                *judged = ListJobs(cluster, request, caller, &jobs, pagination);
                fill(std::move(jobs));
              },
              [judged, done = std::move(done)](absl::Status status) mutable {
                done(status.ok() ? *judged : std::move(status));
              });
        });
  }

  void Update(const v1::UpdateJobQueueRequest& request, Done done) {
    auto event = std::make_shared<absl::StatusOr<cluster::UpdateQueue>>();
    edge_.engine->Query(
        [&request, event](const cluster::Cluster& cluster) {
          *event = ToUpdates(cluster, request);
        },
        [this, event, done = std::move(done)](const absl::Status& status) mutable {
          if (!status.ok()) return done(status);
          if (!event->ok()) return done(event->status());
          edge_.pool->Post([this, event, done = std::move(done)]() mutable {
            absl::Status allowed = CheckQueueUpdate(*edge_.store, **event);
            if (!allowed.ok()) return done(std::move(allowed));
            SubmitAndFinish(edge_, **std::move(event), std::move(done));
          });
        });
  }

  void Explain(const std::string& job, v1::ExplainJobResponse* response, Done done) {
    auto asked = std::make_shared<AskedEstimate>();
    edge_.engine->Query(
        [job, asked, now = edge_.clock->Now()](const cluster::Cluster& cluster) {
          const experiment::Experiment* e = FindJob(cluster, job);
          if (e == nullptr) return;
          asked->job = QueuedJobOf(cluster, *e);
          if (!asked->job || asked->job->waiting.empty()) return;
          asked->snapshot = cluster.scheduler().Dump(now);
        },
        [this, job, asked, response, done = std::move(done)](const absl::Status& status) mutable {
          if (!status.ok()) return done(status);
          edge_.pool->Post([this, job, asked, response, done = std::move(done)]() mutable {
            done(asked->job ? Answer(*asked, response) : Absent(job));
          });
        });
  }

  absl::Status Answer(AskedEstimate& asked, v1::ExplainJobResponse* response) {
    std::vector<model::AllocationId> gangs;
    for (const WaitingGang& gang : asked.job->waiting) gangs.push_back(gang.allocation);
    if (gangs.empty()) {
      FillEstimates(asked, {}, response);
      return absl::OkStatus();
    }
    // It reads and computes on a thread that others wait for.
    static std::mutex one_at_a_time;
    const std::unique_lock lock(one_at_a_time, std::try_to_lock);
    if (!lock.owns_lock()) {
      return absl::ResourceExhaustedError("another job is being explained; try again in a moment");
    }
    KeepPool(asked.job->job.resource_pool(), &asked.snapshot);
    DET_ASSIGN_OR_RETURN(const scheduler::Experience experience,
                         ReadExperience(*edge_.store, asked.snapshot));
    FillEstimates(asked, scheduler::EstimateStarts(asked.snapshot, experience, gangs), response);
    return absl::OkStatus();
  }

  // Why a job cannot be explained: it has ended, is paused, or never was.
  absl::Status Absent(const std::string& job) {
    int32_t number = 0;
    const std::optional<model::ExperimentId> id = absl::SimpleAtoi(job, &number)
                                                      ? std::optional(model::ExperimentId(number))
                                                      : model::ExperimentOf(model::JobId(job));
    if (id) {
      const auto record = edge_.store->GetExperiment(*id);
      if (!record.ok() && !absl::IsNotFound(record.status())) return record.status();
      if (record.ok()) {
        return absl::FailedPreconditionError(
            absl::StrCat("experiment ", id->value(), " is ",
                         std::string(model::ToString(record->experiment.state)),
                         ": no trial of it holds slots or waits for them"));
      }
    }
    return absl::NotFoundError(absl::StrCat("job \"", job, "\" does not exist"));
  }

  void Dump(const std::string& pool, v1::GetSchedulerSnapshotResponse* response, Done done) {
    auto snapshot = std::make_shared<absl::StatusOr<scheduler::Snapshot>>();
    edge_.engine->Query(
        [pool, snapshot, now = edge_.clock->Now()](const cluster::Cluster& cluster) {
          if (!pool.empty() && !HasPool(cluster, pool)) {
            *snapshot = NoSuchPool(cluster, pool);
          } else {
            *snapshot = cluster.scheduler().Dump(now);
          }
        },
        [this, pool, snapshot, response, done = std::move(done)](const absl::Status& s) mutable {
          if (!s.ok()) return done(s);
          edge_.pool->Post([pool, snapshot, response, done = std::move(done)]() mutable {
            if (!snapshot->ok()) return done(snapshot->status());
            if (!pool.empty()) KeepPool(pool, &**snapshot);
            const auto parsed = google::protobuf::util::JsonStringToMessage(
                scheduler::ToJson(**snapshot), response->mutable_snapshot());
            done(parsed.ok() ? absl::OkStatus() : absl::InternalError("the snapshot is no JSON"));
          });
        });
  }

  const Edge& edge_;
};

}  // namespace

std::unique_ptr<Service> MakeJobService(const Edge& edge) {
  return std::make_unique<JobService>(edge);
}

}  // namespace det::api
