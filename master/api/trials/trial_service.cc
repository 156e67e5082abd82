#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "det/api/v1/trial.unary.h"
#include "master/api/common/convert.h"
#include "master/api/common/live_trials.h"
#include "master/api/experiments/read_experiment.h"
#include "master/api/experiments/state_change.h"
#include "master/api/logs/log_stream.h"
#include "master/api/rpc/api_service.h"
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
    if (state == v1::Trial::STATE_ACTIVE) query.states.push_back(model::TrialState::kQueued);
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
    case v1::GetExperimentTrialsRequest::SORT_BY_DURATION:
      query.sort = Sort::kDuration;
      break;
    case v1::GetExperimentTrialsRequest::SORT_BY_CHECKPOINT_SIZE:
      query.sort = Sort::kCheckpointSize;
      break;
    case v1::GetExperimentTrialsRequest::SORT_BY_LOG_RETENTION_DAYS:
      query.sort = Sort::kLogDays;
      break;
    default:
      query.sort = Sort::kId;
  }
  return query;
}

// The position of a GetMetrics stream.
struct MetricPosition {
  size_t trial = 0;  // index into the requested trials
  std::optional<store::MetricQuery::Position> after;
};

class TrialService final : public ApiService<v1::TrialService> {
 public:
  TrialService(CallPipeline& calls, engine::Engine& engine, store::Store& store,
               base::ThreadPool& pool, const base::Clock& clock, live::ExperimentWatch& watch)
      : ApiService(calls),
        engine_(engine),
        store_(store),
        pool_(pool),
        clock_(clock),
        watch_(watch) {}

  grpc::ServerUnaryReactor* GetTrial(grpc::CallbackServerContext* context,
                                     const v1::GetTrialRequest* request,
                                     v1::GetTrialResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   ReadTrial(
                       engine_, store_, pool_, clock_, model::TrialId(request->trial_id()),
                       [response, done = std::move(done)](absl::StatusOr<v1::Trial> trial) mutable {
                         if (trial.ok()) *response->mutable_trial() = *std::move(trial);
                         done(trial.status());
                       });
                 });
  }

  grpc::ServerUnaryReactor* GetTrialWorkloads(grpc::CallbackServerContext* context,
                                              const v1::GetTrialWorkloadsRequest* request,
                                              v1::GetTrialWorkloadsResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) {
                   return ListWorkloads(store_, *request, response);
                 });
  }

  grpc::ServerUnaryReactor* GetExperimentTrials(
      grpc::CallbackServerContext* context, const v1::GetExperimentTrialsRequest* request,
      v1::GetExperimentTrialsResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   QueryLiveTrials(
                       engine_, pool_, model::ExperimentId(request->experiment_id()),
                       [this, request, response,
                        done = std::move(done)](const absl::StatusOr<LiveTrials>& live) mutable {
                         done(live.ok() ? List(*request, *live, response) : live.status());
                       });
                 });
  }

  // Old tasks report to the profiler; today's report system metrics as metrics of the trial.
  grpc::ServerWriteReactor<v1::GetTrialProfilerMetricsResponse>* GetTrialProfilerMetrics(
      grpc::CallbackServerContext* context,
      const v1::GetTrialProfilerMetricsRequest* request) override {
    using Response = v1::GetTrialProfilerMetricsResponse;
    return ServerStream<Response>(
        __func__, context, request,
        [this, id = request->labels().trial_id()](const auth::Principal&,
                                                  std::shared_ptr<Stream<Response>> stream) {
          stream->Close(store_.GetBareTrial(model::TrialId(id)).status());
        });
  }
  grpc::ServerWriteReactor<v1::GetTrialProfilerAvailableSeriesResponse>*
  GetTrialProfilerAvailableSeries(
      grpc::CallbackServerContext* context,
      const v1::GetTrialProfilerAvailableSeriesRequest* request) override {
    using Response = v1::GetTrialProfilerAvailableSeriesResponse;
    return ServerStream<Response>(
        __func__, context, request,
        [this, id = request->trial_id()](const auth::Principal&,
                                         std::shared_ptr<Stream<Response>> stream) {
          const absl::Status found = store_.GetBareTrial(model::TrialId(id)).status();
          if (found.ok()) stream->Send(Response());
          stream->Close(found);
        });
  }
  grpc::ServerUnaryReactor* PostTrialProfilerMetricsBatch(
      grpc::CallbackServerContext* context, const v1::PostTrialProfilerMetricsBatchRequest* request,
      v1::PostTrialProfilerMetricsBatchResponse* response) override {
    return Unary(__func__, context, request, response, [this, request](const auth::Principal&) {
      absl::Status found;
      for (const v1::TrialProfilerMetricsBatch& batch : request->batches()) {
        found.Update(store_.GetBareTrial(model::TrialId(batch.labels().trial_id())).status());
      }
      return found;
    });
  }

  grpc::ServerUnaryReactor* KillTrial(grpc::CallbackServerContext* context,
                                      const v1::KillTrialRequest* request,
                                      v1::KillTrialResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, id = request->id()](const auth::Principal& caller, Done done) {
                   Kill(engine_, store_, pool_, model::TrialId(id), caller, std::move(done));
                 });
  }

  grpc::ServerWriteReactor<v1::TrialLogsResponse>* TrialLogs(
      grpc::CallbackServerContext* context, const v1::TrialLogsRequest* request) override {
    return ServerStream<v1::TrialLogsResponse>(
        __func__, context, request,
        [this, request = *request](const auth::Principal&,
                                   std::shared_ptr<Stream<v1::TrialLogsResponse>> stream) {
          const model::TrialId id(request.trial_id());
          const auto record = store_.GetBareTrial(id);
          if (!record.ok()) return stream->Close(record.status());
          if (request.limit() < 0) return stream->Close(absl::OkStatus());
          ServeLogs<v1::TrialLogsResponse>(
              store_, watch_, std::move(stream),
              {.query = ToLogQuery(request, record->trial.task),
               .trial = id,
               .experiment = record->trial.experiment,
               .limit = request.limit(),
               .follow = request.follow(),
               .pattern = GetPattern(request)},
              [id](const store::LogRecord& line) { return ToTrialLog(line, id); });
        });
  }

  grpc::ServerWriteReactor<v1::GetMetricsResponse>* GetMetrics(
      grpc::CallbackServerContext* context, const v1::GetMetricsRequest* request) override {
    return StreamMetrics(context, __func__, request, request->group());
  }
  grpc::ServerWriteReactor<v1::GetMetricsResponse>* GetTrainingMetrics(
      grpc::CallbackServerContext* context, const v1::GetTrainingMetricsRequest* request) override {
    return StreamMetrics(context, __func__, request, "training");
  }
  grpc::ServerWriteReactor<v1::GetMetricsResponse>* GetValidationMetrics(
      grpc::CallbackServerContext* context,
      const v1::GetValidationMetricsRequest* request) override {
    return StreamMetrics(context, __func__, request, "validation");
  }

 private:
  template <class Request>
  grpc::ServerWriteReactor<v1::GetMetricsResponse>* StreamMetrics(
      grpc::CallbackServerContext* context, const char* method, const Request* request,
      std::string group) {
    store::MetricQuery query{.group = std::move(group), .limit = kMetricPageSize};
    for (const int32_t id : request->trial_ids()) query.trials.emplace_back(id);
    return ServerStream<v1::GetMetricsResponse>(
        method, context, request,
        [this, query = std::move(query)](const auth::Principal&,
                                         std::shared_ptr<Stream<v1::GetMetricsResponse>> stream) {
          if (const absl::Status valid = CheckTrials(query.trials); !valid.ok()) {
            return stream->Close(valid);
          }
          auto position = std::make_shared<MetricPosition>();
          stream->Start(
              [this, query, position](Stream<v1::GetMetricsResponse>& out) {
                SendMetrics(query, *position, out);
              },
              nullptr);
        });
  }

  // Returns NOT_FOUND if one of them does not exist.
  absl::Status CheckTrials(const std::vector<model::TrialId>& trials) {
    if (trials.empty()) {
      return absl::InvalidArgumentError("trial_ids: specify at least one trial");
    }
    for (const model::TrialId& id : trials) {
      DET_RETURN_IF_ERROR(store_.GetBareTrial(id).status());
    }
    return absl::OkStatus();
  }

  absl::Status List(const v1::GetExperimentTrialsRequest& request, const LiveTrials& live,
                    v1::GetExperimentTrialsResponse* response) {
    DET_RETURN_IF_ERROR(
        store_.GetExperiment(model::ExperimentId(request.experiment_id())).status());
    DET_ASSIGN_OR_RETURN(const store::TrialPage page, store_.ListTrials(ToTrialQuery(request)));
    for (const store::TrialRecord& record : page.trials) {
      *response->add_trials() = WithSearcherMetric(ToProto(record, live, {}, clock_.Now()));
    }
    *response->mutable_pagination() =
        ToPagination(request.offset(), request.limit(), response->trials_size(), page.total);
    return absl::OkStatus();
  }

  // Sends one page as one message, so that only one page is in memory.
  void SendMetrics(const store::MetricQuery& query, MetricPosition& position,
                   Stream<v1::GetMetricsResponse>& out) {
    if (position.trial == query.trials.size()) return out.Close(absl::OkStatus());
    const auto reports = store_.ReadMetrics({.trials = {query.trials[position.trial]},
                                             .group = query.group,
                                             .after = position.after,
                                             .limit = query.limit});
    if (!reports.ok()) return out.Close(reports.status());
    v1::GetMetricsResponse response;
    for (const model::MetricReport& report : *reports) *response.add_metrics() = ToProto(report);
    if (reports->size() < static_cast<size_t>(query.limit)) {
      ++position.trial;
      position.after.reset();
    } else {
      position.after = store::GetPosition(reports->back());
    }
    if (response.metrics_size() > 0) out.Send(std::move(response));
    out.Wake();
  }

  engine::Engine& engine_;
  store::Store& store_;
  base::ThreadPool& pool_;
  const base::Clock& clock_;
  live::ExperimentWatch& watch_;
};

}  // namespace

std::unique_ptr<Service> MakeTrialService(CallPipeline& calls, engine::Engine& engine,
                                          store::Store& store, base::ThreadPool& pool,
                                          const base::Clock& clock, live::ExperimentWatch& watch) {
  return std::make_unique<TrialService>(calls, engine, store, pool, clock, watch);
}

}  // namespace det::api
