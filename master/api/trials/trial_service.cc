#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "det/api/v1/trial.pb.h"
#include "master/api/common/convert.h"
#include "master/api/common/live_trials.h"
#include "master/api/experiments/read_experiment.h"
#include "master/api/experiments/state_change.h"
#include "master/api/logs/log_stream.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/open_stream.h"
#include "master/api/rpc/service.h"
#include "master/api/trials/metric_cursor.h"
#include "master/api/trials/services.h"
#include "master/api/trials/trial_workloads.h"

namespace det::api {
namespace {

store::TrialQuery ToTrialQuery(const v1::GetExperimentTrialsRequest& request) {
  using Sort = store::TrialQuery::Sort;
  store::TrialQuery query;
  query.experiment = model::ExperimentId(request.experiment_id());
  query.window = ToWindow(request.offset(), request.limit());
  query.descending = request.order_by() == v1::ORDER_BY_DESC;
  for (const int state : request.states()) {
    const auto known = FromProto(static_cast<v1::Trial::State>(state));
    if (known) query.states.push_back(*known);
  }
  switch (request.sort_by()) {
    case v1::GetExperimentTrialsRequest::SORT_BY_START_TIME:
      query.sort = Sort::kStartTime;
      break;
    case v1::GetExperimentTrialsRequest::SORT_BY_END_TIME:
      query.sort = Sort::kEndTime;
      break;
    case v1::GetExperimentTrialsRequest::SORT_BY_STATE:
      query.sort = Sort::kState;
      break;
    case v1::GetExperimentTrialsRequest::SORT_BY_BEST_VALIDATION_METRIC:
      query.sort = Sort::kBestMetric;
      break;
    case v1::GetExperimentTrialsRequest::SORT_BY_LATEST_VALIDATION_METRIC:
      query.sort = Sort::kLatestMetric;
      break;
    case v1::GetExperimentTrialsRequest::SORT_BY_BATCHES_PROCESSED:
      query.sort = Sort::kSteps;
      break;
    case v1::GetExperimentTrialsRequest::SORT_BY_RESTARTS:
      query.sort = Sort::kRestarts;
      break;
    default:
      query.sort = Sort::kId;
  }
  return query;
}

// How far a GetMetrics has come.
struct MetricPlace {
  size_t trial = 0;  // of those that are asked for
  std::optional<store::MetricQuery::Place> after;
};

class TrialService final : public Service {
 public:
  explicit TrialService(const Edge& edge) : Service("det.api.v1.TrialService"), edge_(edge) {
    Serve("GetTrial", &TrialService::GetTrial);
    Serve("GetTrialWorkloads", &TrialService::GetTrialWorkloads);
    Serve("GetExperimentTrials", &TrialService::GetExperimentTrials);
    Serve("KillTrial", &TrialService::KillTrial);
    Serve("TrialLogs", &TrialService::TrialLogs);
    Serve("GetMetrics", &TrialService::GetMetrics);
    Serve("GetTrainingMetrics", &TrialService::GetTrainingMetrics);
    Serve("GetValidationMetrics", &TrialService::GetValidationMetrics);
  }

  grpc::ServerUnaryReactor* GetTrial(grpc::CallbackServerContext* context,
                                     const v1::GetTrialRequest* request,
                                     v1::GetTrialResponse* response) {
    return Unary(edge_, context, request, "det.api.v1.TrialService.GetTrial",
                 [this, request, response](const auth::Principal&, Done done) {
                   ReadTrial(
                       edge_, model::TrialId(request->trial_id()),
                       [response, done = std::move(done)](absl::StatusOr<v1::Trial> trial) mutable {
                         if (trial.ok()) *response->mutable_trial() = *std::move(trial);
                         done(trial.status());
                       });
                 });
  }

  grpc::ServerUnaryReactor* GetTrialWorkloads(grpc::CallbackServerContext* context,
                                              const v1::GetTrialWorkloadsRequest* request,
                                              v1::GetTrialWorkloadsResponse* response) {
    return UnaryNow(edge_, context, request, "det.api.v1.TrialService.GetTrialWorkloads",
                    [this, request, response](const auth::Principal&) {
                      return ListWorkloads(*edge_.store, *request, response);
                    });
  }

  grpc::ServerUnaryReactor* GetExperimentTrials(grpc::CallbackServerContext* context,
                                                const v1::GetExperimentTrialsRequest* request,
                                                v1::GetExperimentTrialsResponse* response) {
    return Unary(edge_, context, request, "det.api.v1.TrialService.GetExperimentTrials",
                 [this, request, response](const auth::Principal&, Done done) {
                   ReadLive(
                       *edge_.engine, *edge_.pool, model::ExperimentId(request->experiment_id()),
                       [this, request, response,
                        done = std::move(done)](const absl::StatusOr<LiveTrials>& live) mutable {
                         done(live.ok() ? List(*request, *live, response) : live.status());
                       });
                 });
  }

  grpc::ServerUnaryReactor* KillTrial(grpc::CallbackServerContext* context,
                                      const v1::KillTrialRequest* request, v1::KillTrialResponse*) {
    return Unary(edge_, context, request, "det.api.v1.TrialService.KillTrial",
                 [this, id = request->id()](const auth::Principal&, Done done) {
                   Kill(edge_, model::TrialId(id), std::move(done));
                 });
  }

  MessageStream* TrialLogs(grpc::CallbackServerContext* context,
                           const v1::TrialLogsRequest* request) {
    return OpenStream<v1::TrialLogsResponse>(
        edge_, context, request, "det.api.v1.TrialService.TrialLogs",
        [this, request = *request](const auth::Principal&,
                                   std::shared_ptr<Stream<v1::TrialLogsResponse>> stream) {
          const model::TrialId id(request.trial_id());
          const auto record = edge_.store->GetBareTrial(id);
          if (!record.ok()) return stream->Close(record.status());
          ServeLogs<v1::TrialLogsResponse>(
              edge_, std::move(stream),
              {.query = ToLogQuery(request, record->trial.task),
               .trial = id,
               .experiment = record->trial.experiment,
               .limit = std::max(0, request.limit()),
               .follow = request.follow(),
               .pattern = PatternOf(request)},
              [id](const store::LogRecord& line) { return ToTrialLog(line, id); });
        });
  }

  MessageStream* GetMetrics(grpc::CallbackServerContext* context,
                            const v1::GetMetricsRequest* request) {
    return StreamMetrics(context, "det.api.v1.TrialService.GetMetrics", request, request->group());
  }
  MessageStream* GetTrainingMetrics(grpc::CallbackServerContext* context,
                                    const v1::GetTrainingMetricsRequest* request) {
    return StreamMetrics(context, "det.api.v1.TrialService.GetTrainingMetrics", request,
                         "training");
  }
  MessageStream* GetValidationMetrics(grpc::CallbackServerContext* context,
                                      const v1::GetValidationMetricsRequest* request) {
    return StreamMetrics(context, "det.api.v1.TrialService.GetValidationMetrics", request,
                         "validation");
  }

 private:
  template <class Request>
  MessageStream* StreamMetrics(grpc::CallbackServerContext* context, std::string_view method,
                               const Request* request, std::string group) {
    store::MetricQuery query{.group = std::move(group), .limit = kMetricPortion};
    for (const int32_t id : request->trial_ids()) query.trials.emplace_back(id);
    return OpenStream<v1::GetMetricsResponse>(
        edge_, context, request, method,
        [this, query = std::move(query)](const auth::Principal&,
                                         std::shared_ptr<Stream<v1::GetMetricsResponse>> stream) {
          auto place = std::make_shared<MetricPlace>();
          stream->Start(
              [this, query, place](Stream<v1::GetMetricsResponse>& out) {
                SendMetrics(query, *place, out);
              },
              nullptr);
        });
  }

  absl::Status List(const v1::GetExperimentTrialsRequest& request, const LiveTrials& live,
                    v1::GetExperimentTrialsResponse* response) {
    DET_RETURN_IF_ERROR(
        edge_.store->GetExperiment(model::ExperimentId(request.experiment_id())).status());
    DET_ASSIGN_OR_RETURN(const store::TrialPage page,
                         edge_.store->ListTrials(ToTrialQuery(request)));
    for (const store::TrialRecord& record : page.trials) {
      *response->add_trials() = ToProto(record, live, {}, edge_.clock->Now());
    }
    *response->mutable_pagination() =
        ToPagination(request.offset(), request.limit(), response->trials_size(), page.total);
    return absl::OkStatus();
  }

  // One portion, which is one message, so that memory holds no more of it.
  void SendMetrics(const store::MetricQuery& asked, MetricPlace& place,
                   Stream<v1::GetMetricsResponse>& out) {
    if (place.trial == asked.trials.size()) return out.Close(absl::OkStatus());
    const auto reports = edge_.store->ReadMetrics({.trials = {asked.trials[place.trial]},
                                                   .group = asked.group,
                                                   .after = place.after,
                                                   .limit = asked.limit});
    if (!reports.ok()) return out.Close(reports.status());
    v1::GetMetricsResponse response;
    for (const model::MetricReport& report : *reports) *response.add_metrics() = ToProto(report);
    if (reports->size() < static_cast<size_t>(asked.limit)) {
      ++place.trial;
      place.after.reset();
    } else {
      place.after = store::PlaceOf(reports->back());
    }
    if (response.metrics_size() > 0) out.Send(std::move(response));
    out.Wake();
  }

  const Edge& edge_;
};

}  // namespace

std::unique_ptr<Service> MakeTrialService(const Edge& edge) {
  return std::make_unique<TrialService>(edge);
}

}  // namespace det::api
