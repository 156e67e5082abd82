#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/event_loop.h"
#include "base/status_macros.h"
#include "det/api/v1/run.unary.h"
#include "master/api/common/convert.h"
#include "master/api/common/live_trials.h"
#include "master/api/common/project_resolver.h"
#include "master/api/rpc/api_service.h"
#include "master/api/trials/convert_run.h"
#include "master/api/trials/periodic_stream.h"
#include "master/api/trials/run_series.h"
#include "master/api/trials/services.h"

namespace det::api {
namespace {

using store::Table;

// Limits of a run's metadata: its size as JSON, its nesting and its number of values.
constexpr size_t kMaxMetadataBytes = 64 * 1024;
constexpr int kMaxMetadataDepth = 10;
constexpr int kMaxMetadataValues = 1000;
constexpr size_t kMaxMetadataKey = 50;
constexpr size_t kMaxMetadataText = 5000;
// The metric ranges of a project with more runs are cached.
constexpr int kMaxUncachedRuns = 1000;

template <class Request>
absl::StatusOr<store::RunQuery> ToRunQuery(const Request& request, Table table,
                                           const auth::Principal& principal) {
  store::RunQuery query;
  DET_ASSIGN_OR_RETURN(query.search, store::ParseSearch(table, request.filter(), request.sort()));
  if (table == Table::kExperiments && query.search.order.empty()) {
    query.search.order.emplace_back().column.field = store::Field::kExperimentId;
  }
  // Runs that are equal by fields are listed from the oldest. Indexes contain those that are equal
  // by a metric or value in its direction.
  const bool only_fields = std::all_of(
      query.search.order.begin(), query.search.order.end(),
      [](const store::SortKey& key) { return key.column.kind == store::Column::Kind::kField; });
  if (table == Table::kRuns && only_fields) {
    query.search.order.emplace_back().column.field = store::Field::kRunId;
  }
  query.project = request.project_id();
  query.visible = principal.Visible(model::Permission::kViewExperimentMetadata);
  query.window = ToPage(request.offset(), request.limit());
  return query;
}

int CountLeaves(const model::Value& value) {
  const model::Value::Object* object = value.AsObject();
  if (object == nullptr) return 1;
  int count = 0;
  for (const auto& [key, member] : *object) count += CountLeaves(member);
  return count;
}

int ComputeDepth(const model::Value& value) {
  int max_depth = 0;
  if (const model::Value::Object* object = value.AsObject()) {
    for (const auto& [key, member] : *object) max_depth = std::max(max_depth, ComputeDepth(member));
    return max_depth + 1;
  }
  if (const model::Value::List* list = value.AsList()) {
    for (const model::Value& item : *list) max_depth = std::max(max_depth, ComputeDepth(item));
    return max_depth + 1;
  }
  return 0;
}

absl::Status CheckMetadata(const model::Value& metadata) {
  const auto make_error = [](const char* unit, size_t limit, size_t actual) {
    return absl::InvalidArgumentError(
        absl::StrCat("metadata: ", actual, " ", unit, "; the limit is ", limit));
  };
  const int depth = ComputeDepth(metadata);
  if (depth > kMaxMetadataDepth) return make_error("levels", kMaxMetadataDepth, depth);
  const int values = CountLeaves(metadata);
  if (values > kMaxMetadataValues) return make_error("values", kMaxMetadataValues, values);
  const size_t bytes = metadata.ToJson().size();
  if (bytes > kMaxMetadataBytes) return make_error("bytes", kMaxMetadataBytes, bytes);
  return absl::OkStatus();
}

// Paths of keys are columns of searches, so keys cannot contain the characters of paths.
absl::Status CheckNames(const model::Value& value) {
  if (const model::Value::Object* object = value.AsObject()) {
    for (const auto& [key, member] : *object) {
      if (key.size() > kMaxMetadataKey) {
        return absl::InvalidArgumentError(absl::StrCat("metadata: key \"", key, "\" has ",
                                                       key.size(), " bytes; the limit is ",
                                                       kMaxMetadataKey));
      }
      if (key.find_first_of("$.[]") != std::string::npos) {
        return absl::InvalidArgumentError(
            absl::StrCat("metadata: key \"", key, "\" contains one of $ . [ ]"));
      }
      DET_RETURN_IF_ERROR(CheckNames(member));
    }
  } else if (const model::Value::List* list = value.AsList()) {
    for (const model::Value& item : *list) DET_RETURN_IF_ERROR(CheckNames(item));
  } else if (const std::string* text = value.AsString()) {
    if (text->size() > kMaxMetadataText) {
      return absl::InvalidArgumentError(absl::StrCat("metadata: a value has ", text->size(),
                                                     " bytes; the limit is ", kMaxMetadataText));
    }
  }
  return absl::OkStatus();
}

class RunService final : public ApiService<v1::RunService> {
 public:
  RunService(CallPipeline& calls, engine::Engine& engine, store::Store& store,
             base::ThreadPool& pool, base::EventLoop& loop, const base::Clock& clock)
      : ApiService(calls),
        engine_(engine),
        store_(store),
        pool_(pool),
        loop_(loop),
        clock_(clock) {}

  grpc::ServerUnaryReactor* SearchRuns(grpc::CallbackServerContext* context,
                                       const v1::SearchRunsRequest* request,
                                       v1::SearchRunsResponse* response) override {
    return Search(context, request, response, __func__, Table::kRuns);
  }
  grpc::ServerUnaryReactor* SearchExperiments(grpc::CallbackServerContext* context,
                                              const v1::SearchExperimentsRequest* request,
                                              v1::SearchExperimentsResponse* response) override {
    return Search(context, request, response, __func__, Table::kExperiments);
  }

  grpc::ServerUnaryReactor* GetProjectColumns(grpc::CallbackServerContext* context,
                                              const v1::GetProjectColumnsRequest* request,
                                              v1::GetProjectColumnsResponse* response) override {
    return Unary(
        __func__, context, request, response,
        [this, request, response](const auth::Principal&) -> absl::Status {
          const bool runs = request->table_type() == v1::TABLE_TYPE_RUN;
          DET_RETURN_IF_ERROR(store_.projects().GetProjectWorkspaceId(request->id()).status());
          DET_ASSIGN_OR_RETURN(const auto values, this->runs().ListValueColumns(request->id()));
          DET_ASSIGN_OR_RETURN(const auto metrics, this->runs().ListMetricNames(request->id()));
          for (v1::ProjectColumn& column :
               ToColumns(runs ? Table::kRuns : Table::kExperiments, values, metrics)) {
            *response->add_columns() = std::move(column);
          }
          return absl::OkStatus();
        });
  }

  grpc::ServerUnaryReactor* GetProjectNumericMetricsRange(
      grpc::CallbackServerContext* context, const v1::GetProjectNumericMetricsRangeRequest* request,
      v1::GetProjectNumericMetricsRangeResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) -> absl::Status {
                   return ReadRanges(request->id(), response);
                 });
  }

  grpc::ServerUnaryReactor* GetRunMetadata(grpc::CallbackServerContext* context,
                                           const v1::GetRunMetadataRequest* request,
                                           v1::GetRunMetadataResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const model::Value metadata,
                                        runs().GetMetadata(model::TrialId(request->run_id())));
                   *response->mutable_metadata() = ToStruct(metadata);
                   return absl::OkStatus();
                 });
  }
  grpc::ServerUnaryReactor* PostRunMetadata(grpc::CallbackServerContext* context,
                                            const v1::PostRunMetadataRequest* request,
                                            v1::PostRunMetadataResponse* response) override {
    return Unary(
        __func__, context, request, response,
        [this, request, response](const auth::Principal&) -> absl::Status {
          const model::Value metadata = FromStruct(request->metadata(), Numbers::kIntegersIfWhole);
          DET_RETURN_IF_ERROR(CheckNames(metadata));
          DET_RETURN_IF_ERROR(CheckMetadata(metadata));
          DET_RETURN_IF_ERROR(runs().PutMetadata(model::TrialId(request->run_id()), metadata));
          *response->mutable_metadata() = ToStruct(metadata);
          return absl::OkStatus();
        });
  }
  grpc::ServerUnaryReactor* GetMetadataValues(grpc::CallbackServerContext* context,
                                              const v1::GetMetadataValuesRequest* request,
                                              v1::GetMetadataValuesResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) -> absl::Status {
                   DET_RETURN_IF_ERROR(
                       store_.projects().GetProjectWorkspaceId(request->project_id()).status());
                   DET_ASSIGN_OR_RETURN(
                       const auto values,
                       runs().ListMetadataValues(request->project_id(), request->key()));
                   for (const std::string& value : values) response->add_values(value);
                   return absl::OkStatus();
                 });
  }

  grpc::ServerWriteReactor<v1::ExpMetricNamesResponse>* ExpMetricNames(
      grpc::CallbackServerContext* context, const v1::ExpMetricNamesRequest* request) override {
    std::vector<model::ExperimentId> ids;
    for (const int32_t id : request->ids()) ids.emplace_back(id);
    return ServeSeries<v1::ExpMetricNamesResponse>(context, __func__, request, ids,
                                                   MakeMetricNames(store_, ids));
  }
  grpc::ServerWriteReactor<v1::MetricBatchesResponse>* MetricBatches(
      grpc::CallbackServerContext* context, const v1::MetricBatchesRequest* request) override {
    return ServeSeries<v1::MetricBatchesResponse>(context, __func__, request,
                                                  MakeBatches(store_, *request));
  }
  grpc::ServerWriteReactor<v1::TrialsSnapshotResponse>* TrialsSnapshot(
      grpc::CallbackServerContext* context, const v1::TrialsSnapshotRequest* request) override {
    return ServeSeries<v1::TrialsSnapshotResponse>(context, __func__, request,
                                                   MakeSnapshot(store_, *request));
  }
  grpc::ServerWriteReactor<v1::TrialsSampleResponse>* TrialsSample(
      grpc::CallbackServerContext* context, const v1::TrialsSampleRequest* request) override {
    return ServeSeries<v1::TrialsSampleResponse>(context, __func__, request,
                                                 MakeSample(store_, *request));
  }
  grpc::ServerUnaryReactor* CompareTrials(grpc::CallbackServerContext* context,
                                          const v1::CompareTrialsRequest* request,
                                          v1::CompareTrialsResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) {
                   return Compare(store_, *request, clock_.Now(), response);
                 });
  }

 private:
  store::Runs& runs() { return store_.runs(); }

  // Serves a stream of what is new in a series of experiments (run_series.h).
  template <class Response, class Request>
  grpc::ServerWriteReactor<Response>* ServeSeries(grpc::CallbackServerContext* context,
                                                  const char* method, const Request* request,
                                                  std::vector<model::ExperimentId> experiments,
                                                  Series<Response> series) {
    const absl::Duration period =
        request->period_seconds() > 0 ? absl::Seconds(request->period_seconds()) : kDefaultPeriod;
    return ServerStream<Response>(
        method, context, request,
        [this, experiments = std::move(experiments), series = std::move(series), period](
            const auth::Principal&, std::shared_ptr<Stream<Response>> stream) mutable {
          ServePeriodically<Response>(store_, loop_, std::move(stream), std::move(experiments),
                                      period, std::move(series));
        });
  }
  template <class Response, class Request>
  grpc::ServerWriteReactor<Response>* ServeSeries(grpc::CallbackServerContext* context,
                                                  const char* method, const Request* request,
                                                  Series<Response> series) {
    return ServeSeries<Response>(context, method, request,
                                 {model::ExperimentId(request->experiment_id())},
                                 std::move(series));
  }

  // Reads the ranges of all numeric metrics, from which clients build filters. The ranges of a
  // project with many runs are cached for a minute.
  absl::Status ReadRanges(int32_t project, v1::GetProjectNumericMetricsRangeResponse* response) {
    const absl::Time now = clock_.Now();
    {
      std::lock_guard lock(mutex_);
      std::erase_if(ranges_, [now](const auto& item) { return item.second.expires_at <= now; });
      const auto cached = ranges_.find(project);
      if (cached != ranges_.end()) {
        *response = cached->second.response;
        return absl::OkStatus();
      }
    }
    DET_ASSIGN_OR_RETURN(const auto record, store_.projects().GetProject(project));
    DET_ASSIGN_OR_RETURN(const auto ranges, runs().ListMetricRanges(project));
    for (const store::MetricRange& range : ranges) {
      v1::MetricsRange& out = *response->add_ranges();
      out.set_metrics_name(absl::StrCat(range.name.first, ".", range.name.second));
      out.set_min(range.min);
      out.set_max(range.max);
    }
    if (record.num_runs <= kMaxUncachedRuns) return absl::OkStatus();
    std::lock_guard lock(mutex_);
    ranges_[project] = {now + absl::Minutes(1), *response};
    return absl::OkStatus();
  }

  template <class Request, class Response>
  grpc::ServerUnaryReactor* Search(grpc::CallbackServerContext* context, const Request* request,
                                   Response* response, const char* method, Table table) {
    return Unary(method, context, request, response,
                 [this, request, response, table](const auth::Principal& principal, Done done) {
                   if (request->has_project_id()) {
                     absl::Status found = CheckProjectIsVisible(
                         store_, request->project_id(),
                         principal.Visible(model::Permission::kViewExperimentMetadata));
                     if (!found.ok()) return done(std::move(found));
                   }
                   absl::StatusOr<store::RunQuery> query = ToRunQuery(*request, table, principal);
                   if (!query.ok()) return done(query.status());
                   QueryLiveTrials(
                       engine_, pool_, std::nullopt,
                       [this, request, query = *std::move(query), response,
                        done = std::move(done)](const absl::StatusOr<LiveTrials>& live) mutable {
                         if (!live.ok()) return done(live.status());
                         done(Read(*request, query, *live, response));
                       });
                 });
  }

  absl::Status Read(const v1::SearchRunsRequest& request, const store::RunQuery& query,
                    const LiveTrials& live, v1::SearchRunsResponse* response) {
    DET_ASSIGN_OR_RETURN(const store::RunPage page, runs().SearchRuns(query));
    for (const store::RunRecord& run : page.runs) {
      *response->add_runs() = ToProto(run, live, clock_.Now());
    }
    *response->mutable_pagination() =
        ToPagination(request.offset(), request.limit(), response->runs_size(), page.total);
    return absl::OkStatus();
  }

  absl::Status Read(const v1::SearchExperimentsRequest& request, const store::RunQuery& query,
                    const LiveTrials& live, v1::SearchExperimentsResponse* response) {
    DET_ASSIGN_OR_RETURN(const store::FoundExperiments found, runs().SearchExperiments(query));
    *response->mutable_pagination() = ToPagination(request.offset(), request.limit(),
                                                   static_cast<int>(found.ids.size()), found.total);
    if (found.ids.empty()) return absl::OkStatus();
    store::ExperimentQuery by_id;
    by_id.ids = found.ids;
    DET_ASSIGN_OR_RETURN(const store::ExperimentPage page, store_.ListExperiments(by_id));
    DET_ASSIGN_OR_RETURN(const store::TrialPage trials, ReadBestTrials(page));
    for (const model::ExperimentId id : found.ids) {
      for (const store::ExperimentRecord& record : page.experiments) {
        if (record.experiment.id != id) continue;
        auto& out = *response->add_experiments();
        *out.mutable_experiment() = ToProto(record, live, clock_.Now(), /*detail=*/false);
        for (const store::TrialRecord& trial : trials.trials) {
          if (record.experiment.best_trial != trial.trial.id) continue;
          *out.mutable_best_trial() = WithSearcherMetric(ToProto(trial, live, {}, clock_.Now()));
          out.mutable_best_trial()->clear_best_checkpoint();  // existing clients know it as null
        }
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<store::TrialPage> ReadBestTrials(const store::ExperimentPage& page) {
    store::TrialQuery query;
    for (const store::ExperimentRecord& record : page.experiments) {
      if (record.experiment.best_trial) query.ids.push_back(*record.experiment.best_trial);
    }
    if (query.ids.empty()) return store::TrialPage();
    return store_.ListTrials(query);
  }

  struct CachedRanges {
    absl::Time expires_at;
    v1::GetProjectNumericMetricsRangeResponse response;
  };

  engine::Engine& engine_;
  store::Store& store_;
  base::ThreadPool& pool_;
  base::EventLoop& loop_;
  const base::Clock& clock_;
  std::mutex mutex_;
  std::map<int32_t, CachedRanges> ranges_;  // by project
};

}  // namespace

std::unique_ptr<Service> MakeRunService(CallPipeline& calls, engine::Engine& engine,
                                        store::Store& store, base::ThreadPool& pool,
                                        base::EventLoop& loop, const base::Clock& clock) {
  return std::make_unique<RunService>(calls, engine, store, pool, loop, clock);
}

}  // namespace det::api
