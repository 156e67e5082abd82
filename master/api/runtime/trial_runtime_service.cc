#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "det/trial/v1/trial.unary.h"
#include "master/api/common/convert.h"
#include "master/api/rpc/api_service.h"
#include "master/api/runtime/all_gather.h"
#include "master/api/runtime/allocation_status.h"
#include "master/api/runtime/report_metrics.h"
#include "master/api/runtime/services.h"
#include "master/api/runtime/trial_reports.h"

namespace det::api {
namespace {

namespace trial = det::trial::v1;
using trial::AllocationUpdate;

std::optional<model::ExitReason> ToExitReason(trial::ReportEarlyExitRequest::Reason reason) {
  switch (reason) {
    case trial::ReportEarlyExitRequest::INVALID_HP:
      return model::ExitReason::kInvalidHp;
    case trial::ReportEarlyExitRequest::INVALID_CODE:
      return model::ExitReason::kInvalidCode;
    case trial::ReportEarlyExitRequest::FAILED:
      return model::ExitReason::kNone;  // the exit code decides; the message explains it
    default:
      return std::nullopt;
  }
}

class TrialRuntimeService final : public ApiService<trial::TrialRuntime> {
 public:
  TrialRuntimeService(CallPipeline& calls, engine::Engine& engine, store::Store& store,
                      live::ExperimentWatch& watch, live::AllocationWatch& allocations,
                      api::AllGather& all_gather, webhooks::TriggerWatch* triggers,
                      base::ThreadPool& pool, const base::Clock& clock)
      : ApiService(calls),
        engine_(engine),
        store_(store),
        watch_(watch),
        allocations_(allocations),
        all_gather_(all_gather),
        triggers_(triggers),
        pool_(pool),
        clock_(clock) {}

  grpc::ServerWriteReactor<trial::AllocationUpdate>* WatchAllocation(
      grpc::CallbackServerContext* context, const trial::WatchAllocationRequest* request) override {
    return ServerStream<AllocationUpdate>(
        __func__, context, request,
        [this, id = request->allocation_id()](const auth::Principal& principal,
                                              std::shared_ptr<Stream<AllocationUpdate>> stream) {
          const absl::Status own = CheckOwnAllocation(principal, id);
          if (!own.ok()) return stream->Close(own);
          Watch(principal.allocation, std::move(stream));
        });
  }

  grpc::ServerUnaryReactor* AllGather(grpc::CallbackServerContext* context,
                                      const trial::AllGatherRequest* request,
                                      trial::AllGatherResponse* response) override {
    return Unary(
        __func__, context, request, response, [this, request, response](Call& call, Done done) {
          const absl::Status own = CheckOwnAllocation(call.principal(), request->allocation_id());
          if (!own.ok()) return done(own);
          GetAllocationStatus(
              engine_, pool_, GetAllocationId(*request),
              [this, &call, request, response,
               done = std::move(done)](const absl::StatusOr<AllocationStatus>& allocation) mutable {
                if (!allocation.ok()) return done(allocation.status());
                JoinAllGather(all_gather_, call, *request, response, std::move(done));
              });
        });
  }

  grpc::ServerUnaryReactor* ReportMetrics(grpc::CallbackServerContext* context,
                                          const trial::ReportMetricsRequest* request,
                                          trial::ReportMetricsResponse* response) override {
    return ServeOwnTrial(context, __func__, request,
                         [this, request, response](const AllocationStatus& status, Done done) {
                           const absl::Time now = clock_.Now();
                           absl::StatusOr<std::vector<model::MetricReport>> reports =
                               ToReports(*request, now);
                           if (!reports.ok()) return done(reports.status());
                           AddMetrics(
                               engine_, store_, watch_, triggers_, pool_, status.experiment,
                               GetAllocationId(*request), *std::move(reports),
                               [response] { response->set_best_so_far(true); }, std::move(done));
                         });
  }

  grpc::ServerUnaryReactor* ReportProgress(grpc::CallbackServerContext* context,
                                           const trial::ReportProgressRequest* request,
                                           trial::ReportProgressResponse*) override {
    return ServeOwnTrial(
        context, __func__, request, [this, request](const AllocationStatus&, Done done) {
          SubmitAndFinish(engine_,
                          cluster::ProgressReported{.allocation = GetAllocationId(*request),
                                                    .trial = model::TrialId(request->trial_id()),
                                                    .progress = request->progress(),
                                                    .runner_state = request->runner_state()},
                          std::move(done));
        });
  }

  grpc::ServerUnaryReactor* ReportCheckpoint(grpc::CallbackServerContext* context,
                                             const trial::ReportCheckpointRequest* request,
                                             trial::ReportCheckpointResponse*) override {
    return ServeOwnAllocation(context, __func__, request, [this, request](Done done) {
      // A damaged checkpoint may belong to another trial: the one from which this trial started.
      if (request->damage().empty()) {
        const absl::Status own = CheckUuidIsOwn(store_, request->uuid(), GetAllocationId(*request));
        if (!own.ok()) return done(own);
      }
      WithOwnTrial(
          request,
          [this, request](const AllocationStatus&, Done done) {
            auto event = ToEvent(*request, GetAllocationId(*request), clock_.Now());
            if (!event.ok()) return done(event.status());
            SubmitAndFinish(engine_, *std::move(event), std::move(done));
          },
          std::move(done));
    });
  }

  grpc::ServerUnaryReactor* AckPreemption(grpc::CallbackServerContext* context,
                                          const trial::AckPreemptionRequest* request,
                                          trial::AckPreemptionResponse*) override {
    return ServeOwnAllocation(context, __func__, request, [this, request](Done done) {
      SubmitAndFinish(engine_, cluster::PreemptionAcked{GetAllocationId(*request)},
                      std::move(done));
    });
  }

  grpc::ServerUnaryReactor* ReportEarlyExit(grpc::CallbackServerContext* context,
                                            const trial::ReportEarlyExitRequest* request,
                                            trial::ReportEarlyExitResponse*) override {
    return ServeOwnAllocation(context, __func__, request, [this, request](Done done) {
      const std::optional<model::ExitReason> reason = ToExitReason(request->reason());
      if (!reason) {
        return done(
            absl::InvalidArgumentError("reason: expected INVALID_HP, INVALID_CODE or FAILED"));
      }
      SubmitAndFinish(engine_,
                      cluster::EarlyExitReported{.allocation = GetAllocationId(*request),
                                                 .reason = *reason,
                                                 .message = request->message()},
                      std::move(done));
    });
  }

 private:
  template <class Request>
  static model::AllocationId GetAllocationId(const Request& request) {
    return model::AllocationId(request.allocation_id());
  }

  // Serves a call about the caller's own allocation.
  template <class Request>
  grpc::ServerUnaryReactor* ServeOwnAllocation(grpc::CallbackServerContext* context,
                                               const char* method, const Request* request,
                                               absl::AnyInvocable<void(Done)> work) {
    return Unary(
        method, context, request, nullptr,
        [request, work = std::move(work)](const auth::Principal& principal, Done done) mutable {
          const absl::Status own = CheckOwnAllocation(principal, request->allocation_id());
          if (!own.ok()) return done(own);
          work(std::move(done));
        });
  }

  // Serves a call that also names a trial: it must be the allocation's trial, and the allocation
  // must not have ended.
  template <class Request>
  grpc::ServerUnaryReactor* ServeOwnTrial(
      grpc::CallbackServerContext* context, const char* method, const Request* request,
      absl::AnyInvocable<void(const AllocationStatus&, Done)> work) {
    return ServeOwnAllocation(context, method, request,
                              [this, request, work = std::move(work)](Done done) mutable {
                                WithOwnTrial(request, std::move(work), std::move(done));
                              });
  }

  template <class Request>
  void WithOwnTrial(const Request* request,
                    absl::AnyInvocable<void(const AllocationStatus&, Done)> work, Done done) {
    GetAllocationStatus(engine_, pool_, GetAllocationId(*request),
                        [request, work = std::move(work), done = std::move(done)](
                            const absl::StatusOr<AllocationStatus>& allocation) mutable {
                          if (!allocation.ok()) return done(allocation.status());
                          if (allocation->trial.value() != request->trial_id()) {
                            return done(absl::PermissionDeniedError(
                                absl::StrCat("allocation ", request->allocation_id(),
                                             " does not belong to trial ", request->trial_id())));
                          }
                          work(*allocation, std::move(done));
                        });
  }

  void Watch(const model::AllocationId& id, std::shared_ptr<Stream<AllocationUpdate>> stream) {
    // Subscribe before the status is read, so that no update between the two is lost. An update
    // that is sent twice has the same content.
    const std::weak_ptr<Stream<AllocationUpdate>> weak = stream;
    const int64_t subscription =
        allocations_.Subscribe(id, {.update =
                                        [weak](const AllocationUpdate& update) {
                                          if (const auto held = weak.lock()) held->Send(update);
                                        },
                                    .closed =
                                        [weak] {
                                          if (const auto held = weak.lock())
                                            held->Close(absl::OkStatus());
                                        }});
    stream->Start(nullptr,
                  [this, id, subscription] { allocations_.Unsubscribe(id, subscription); });
    GetAllocationStatus(engine_, pool_, id,
                        [stream](const absl::StatusOr<AllocationStatus>& allocation) {
                          if (!allocation.ok()) return stream->Close(allocation.status());
                          for (const AllocationUpdate& update : allocation->updates) {
                            stream->Send(update);
                          }
                        });
  }

  engine::Engine& engine_;
  store::Store& store_;
  live::ExperimentWatch& watch_;
  live::AllocationWatch& allocations_;
  api::AllGather& all_gather_;
  webhooks::TriggerWatch* triggers_;
  base::ThreadPool& pool_;
  const base::Clock& clock_;
};

}  // namespace

std::unique_ptr<Service> MakeTrialRuntimeService(CallPipeline& calls, engine::Engine& engine,
                                                 store::Store& store, live::ExperimentWatch& watch,
                                                 live::AllocationWatch& allocations,
                                                 AllGather& all_gather,
                                                 webhooks::TriggerWatch* triggers,
                                                 base::ThreadPool& pool, const base::Clock& clock) {
  return std::make_unique<TrialRuntimeService>(calls, engine, store, watch, allocations, all_gather,
                                               triggers, pool, clock);
}

}  // namespace det::api
