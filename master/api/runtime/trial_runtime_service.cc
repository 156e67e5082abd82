#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/trial/v1/trial.pb.h"
#include "master/api/common/convert.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/open_stream.h"
#include "master/api/rpc/service.h"
#include "master/api/runtime/all_gather_call.h"
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

class TrialRuntimeService final : public Service {
 public:
  TrialRuntimeService(const Edge& edge, live::AllocationWatch& watch, api::AllGather& all_gather)
      : Service("det.trial.v1.TrialRuntime"), edge_(edge), watch_(watch), all_gather_(all_gather) {
    Serve("WatchAllocation", &TrialRuntimeService::WatchAllocation);
    Serve("AllGather", &TrialRuntimeService::AllGather);
    Serve("ReportMetrics", &TrialRuntimeService::ReportMetrics);
    Serve("ReportProgress", &TrialRuntimeService::ReportProgress);
    Serve("ReportCheckpoint", &TrialRuntimeService::ReportCheckpoint);
    Serve("AckPreemption", &TrialRuntimeService::AckPreemption);
    Serve("ReportEarlyExit", &TrialRuntimeService::ReportEarlyExit);
  }

  MessageStream* WatchAllocation(grpc::CallbackServerContext* context,
                                 const trial::WatchAllocationRequest* request) {
    return OpenStream<AllocationUpdate>(
        edge_, context, request, "det.trial.v1.TrialRuntime.WatchAllocation",
        [this, id = request->allocation_id()](const auth::Principal& principal,
                                              std::shared_ptr<Stream<AllocationUpdate>> stream) {
          const absl::Status own = CheckOwn(principal, id);
          if (!own.ok()) return stream->Close(own);
          Watch(principal.allocation, std::move(stream));
        });
  }

  // Not through Unary(): it must notice that a waiting caller has gone.
  grpc::ServerUnaryReactor* AllGather(grpc::CallbackServerContext* context,
                                      const trial::AllGatherRequest* request,
                                      trial::AllGatherResponse* response) {
    return JoinGather(
        &all_gather_, request, response,
        [this, request, header = HeadOf(*context).authorization](Done admit) mutable {
          edge_.pool->Post(
              [this, request, header = std::move(header), admit = std::move(admit)]() mutable {
                const auto principal =
                    edge_.authenticator->Admit("det.trial.v1.TrialRuntime.AllGather", header);
                absl::Status status = principal.status();
                if (status.ok()) status = CheckOwn(*principal, request->allocation_id());
                if (!status.ok()) return admit(status);
                WithStanding(
                    edge_, Id(*request),
                    [admit = std::move(admit)](const absl::StatusOr<Standing>& standing) mutable {
                      admit(standing.status());
                    });
              });
        });
  }

  grpc::ServerUnaryReactor* ReportMetrics(grpc::CallbackServerContext* context,
                                          const trial::ReportMetricsRequest* request,
                                          trial::ReportMetricsResponse* response) {
    return OfOwnTrial(
        context, "det.trial.v1.TrialRuntime.ReportMetrics", request,
        [this, request, response](const Standing& standing, Done done) {
          const absl::Time now = edge_.clock->Now();
          absl::StatusOr<std::vector<model::MetricReport>> reports = ToReports(*request, now);
          if (!reports.ok()) return done(reports.status());
          AddMetrics(
              edge_, standing.experiment, Id(*request), *std::move(reports),
              [response](bool best) { response->set_best_so_far(best); }, std::move(done));
        });
  }

  grpc::ServerUnaryReactor* ReportProgress(grpc::CallbackServerContext* context,
                                           const trial::ReportProgressRequest* request,
                                           trial::ReportProgressResponse*) {
    return OfOwnTrial(context, "det.trial.v1.TrialRuntime.ReportProgress", request,
                      [this, request](const Standing&, Done done) {
                        SubmitAndFinish(
                            edge_,
                            cluster::ProgressReported{.allocation = Id(*request),
                                                      .trial = model::TrialId(request->trial_id()),
                                                      .progress = request->progress(),
                                                      .runner_state = request->runner_state()},
                            std::move(done));
                      });
  }

  grpc::ServerUnaryReactor* ReportCheckpoint(grpc::CallbackServerContext* context,
                                             const trial::ReportCheckpointRequest* request,
                                             trial::ReportCheckpointResponse*) {
    return OfOwn(
        context, "det.trial.v1.TrialRuntime.ReportCheckpoint", request, [this, request](Done done) {
          // What is damaged may be what it has started from.
          if (request->damage().empty()) {
            const absl::Status own = CheckUuidIsOwn(*edge_.store, request->uuid(), Id(*request));
            if (!own.ok()) return done(own);
          }
          WithOwnTrial(
              request,
              [this, request](const Standing&, Done done) {
                auto event = ToEvent(*request, Id(*request), edge_.clock->Now());
                if (!event.ok()) return done(event.status());
                SubmitAndFinish(edge_, *std::move(event), std::move(done));
              },
              std::move(done));
        });
  }

  grpc::ServerUnaryReactor* AckPreemption(grpc::CallbackServerContext* context,
                                          const trial::AckPreemptionRequest* request,
                                          trial::AckPreemptionResponse*) {
    return OfOwn(context, "det.trial.v1.TrialRuntime.AckPreemption", request,
                 [this, request](Done done) {
                   SubmitAndFinish(edge_, cluster::PreemptionAcked{Id(*request)}, std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* ReportEarlyExit(grpc::CallbackServerContext* context,
                                            const trial::ReportEarlyExitRequest* request,
                                            trial::ReportEarlyExitResponse*) {
    return OfOwn(
        context, "det.trial.v1.TrialRuntime.ReportEarlyExit", request, [this, request](Done done) {
          const std::optional<model::ExitReason> reason = ToExitReason(request->reason());
          if (!reason) {
            return done(absl::InvalidArgumentError(
                "the reason must be INVALID_HP, INVALID_CODE or FAILED"));
          }
          SubmitAndFinish(
              edge_,
              cluster::EarlyExitReported{
                  .allocation = Id(*request), .reason = *reason, .message = request->message()},
              std::move(done));
        });
  }

 private:
  template <class Request>
  static model::AllocationId Id(const Request& request) {
    return model::AllocationId(request.allocation_id());
  }

  // For calls about the caller's own allocation.
  template <class Request>
  grpc::ServerUnaryReactor* OfOwn(grpc::CallbackServerContext* context, std::string_view method,
                                  const Request* request, absl::AnyInvocable<void(Done)> work) {
    return Unary(
        edge_, context, request, method,
        [request, work = std::move(work)](const auth::Principal& principal, Done done) mutable {
          const absl::Status own = CheckOwn(principal, request->allocation_id());
          if (!own.ok()) return done(own);
          work(std::move(done));
        });
  }

  // For calls that name a trial, too: it must be the allocation's, and the allocation must live.
  template <class Request>
  grpc::ServerUnaryReactor* OfOwnTrial(grpc::CallbackServerContext* context,
                                       std::string_view method, const Request* request,
                                       absl::AnyInvocable<void(const Standing&, Done)> work) {
    return OfOwn(context, method, request,
                 [this, request, work = std::move(work)](Done done) mutable {
                   WithOwnTrial(request, std::move(work), std::move(done));
                 });
  }

  template <class Request>
  void WithOwnTrial(const Request* request, absl::AnyInvocable<void(const Standing&, Done)> work,
                    Done done) {
    WithStanding(edge_, Id(*request),
                 [request, work = std::move(work),
                  done = std::move(done)](const absl::StatusOr<Standing>& standing) mutable {
                   if (!standing.ok()) return done(standing.status());
                   if (standing->trial.value() != request->trial_id()) {
                     return done(absl::PermissionDeniedError(
                         absl::StrCat("allocation ", request->allocation_id(), " is not of trial ",
                                      request->trial_id())));
                   }
                   work(*standing, std::move(done));
                 });
  }

  void Watch(const model::AllocationId& id, std::shared_ptr<Stream<AllocationUpdate>> stream) {
    // Before the look at what is known, so that nothing falls between the two. What comes twice is
    // the same news.
    const std::weak_ptr<Stream<AllocationUpdate>> weak = stream;
    const int64_t subscription = watch_.Subscribe(id, {.update =
                                                           [weak](const AllocationUpdate& update) {
                                                             if (const auto held = weak.lock())
                                                               held->Send(update);
                                                           },
                                                       .closed =
                                                           [weak] {
                                                             if (const auto held = weak.lock())
                                                               held->Close(absl::OkStatus());
                                                           }});
    stream->Start(nullptr, [this, id, subscription] { watch_.Unsubscribe(id, subscription); });
    WithStanding(edge_, id, [stream](const absl::StatusOr<Standing>& standing) {
      if (!standing.ok()) return stream->Close(standing.status());
      for (const AllocationUpdate& update : standing->news) stream->Send(update);
    });
  }

  const Edge& edge_;
  live::AllocationWatch& watch_;
  api::AllGather& all_gather_;
};

}  // namespace

std::unique_ptr<Service> MakeTrialRuntimeService(const Edge& edge, live::AllocationWatch& watch,
                                                 AllGather& all_gather) {
  return std::make_unique<TrialRuntimeService>(edge, watch, all_gather);
}

}  // namespace det::api
