#include "master/api/trials/run_series.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/api/common/convert.h"
#include "master/api/trials/downsample.h"
#include "master/store/interfaces/canonical.h"

namespace det::api {
namespace {

using Reports = std::vector<model::MetricReport>;
using Names = std::vector<std::string>;

constexpr int kDefaultPoints = 1000;
constexpr int kDefaultTrials = 25;
constexpr int kMaxTrials = 500;

absl::StatusOr<std::string> ResolveGroup(const std::string& group, v1::MetricType type) {
  if (!group.empty()) return group;
  if (type == v1::METRIC_TYPE_TRAINING) return std::string("training");
  if (type == v1::METRIC_TYPE_VALIDATION) return std::string("validation");
  return absl::InvalidArgumentError(
      "group or metric_type (METRIC_TYPE_TRAINING, METRIC_TYPE_VALIDATION) is required");
}

template <class Request>
absl::StatusOr<std::string> ResolveGroup(const Request& request) {
  if (request.metric_name().empty()) {
    return absl::InvalidArgumentError("metric_name is required");
  }
  return ResolveGroup(request.group(), request.metric_type());
}

bool IsWithin(int64_t steps, int begin, int end) {
  return steps >= begin && (end <= 0 || steps <= end);
}

v1::DataPoint ToPoint(const model::MetricReport& report, const Names& names) {
  v1::DataPoint point;
  point.set_batches(static_cast<int32_t>(report.steps_completed));
  *point.mutable_time() = ToProto(report.time);
  auto& values = *point.mutable_values()->mutable_fields();
  for (const auto& [name, value] : *report.metrics.AsObject()) {
    if (name == "epoch" || name == "epochs") {
      if (const auto epoch = value.AsNumber()) point.set_epoch(*epoch);
    }
    const bool requested = names.empty() || std::count(names.begin(), names.end(), name) > 0;
    if (requested) values[name] = ToProtoValue(value);
  }
  return point;
}

size_t GetMaxPoints(int max_datapoints) {
  return static_cast<size_t>(max_datapoints > 0 ? max_datapoints : kDefaultPoints);
}

void AddColumns(const store::NumberCurve& curve, int max_datapoints, v1::CurveColumns* out) {
  for (const size_t i : Downsample(curve.values, GetMaxPoints(max_datapoints))) {
    out->add_batches(static_cast<int32_t>(curve.steps[i]));
    out->add_values(curve.values[i]);
  }
}

// Returns the reports that have one of the metrics (any metric if `names` is empty), downsampled by
// the values of the first metric.
std::vector<const model::MetricReport*> SelectReports(const Reports& reports, const Names& names,
                                                      int begin, int end, int max_datapoints) {
  std::vector<const model::MetricReport*> matching;
  std::vector<double> values;
  for (const model::MetricReport& report : reports) {
    const model::Value::Object* metrics = report.metrics.AsObject();
    if (metrics == nullptr || metrics->empty()) continue;
    if (!IsWithin(report.steps_completed, begin, end)) continue;
    const std::string& first = names.empty() ? metrics->begin()->first : names.front();
    const bool has = names.empty() || std::any_of(names.begin(), names.end(), [&](const auto& n) {
                       return metrics->contains(n);
                     });
    if (!has) continue;
    matching.push_back(&report);
    values.push_back(store::GetMetricNumber(report.metrics, first).value_or(0));
  }
  std::vector<const model::MetricReport*> curve;
  for (const size_t i : Downsample(values, GetMaxPoints(max_datapoints))) {
    curve.push_back(matching[i]);
  }
  return curve;
}

// The query limits the number of reports to the points that are returned.
template <class Request>
store::CurveQuery MakeCurveQuery(const store::TrialPage& page, const std::string& group,
                                 const Names& names, const Request& request) {
  store::CurveQuery query{.group = group};
  for (const store::TrialRecord& record : page.trials) query.trials.push_back(record.trial.id);
  if (!names.empty()) query.metric = names.front();
  query.first_steps = request.start_batches();
  if (request.end_batches() > 0) query.last_steps = request.end_batches();
  query.max_reports = request.max_datapoints() > 0 ? request.max_datapoints() : kDefaultPoints;
  return query;
}

absl::StatusOr<store::TrialPage> ListTrialsOfExperiment(store::Store& store, int experiment) {
  const model::ExperimentId id(experiment);
  return store.ListTrials(store::MakeBareTrialQuery(id));
}

v1::MetricType GetMetricType(const std::string& group) {
  if (group == "training") return v1::METRIC_TYPE_TRAINING;
  if (group == "validation") return v1::METRIC_TYPE_VALIDATION;
  return v1::METRIC_TYPE_UNSPECIFIED;
}

absl::StatusOr<std::map<std::string, Names>> ParseMetrics(const v1::CompareTrialsRequest& request) {
  std::map<std::string, Names> metrics;
  for (const std::string& id : request.metric_ids()) {
    const size_t dot = id.find('.');
    if (dot == std::string::npos || dot == 0 || dot + 1 == id.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("metric_ids: invalid metric \"", id,
                       "\"; expected group and name, as in \"validation.loss\""));
    }
    metrics[id.substr(0, dot)].push_back(id.substr(dot + 1));
  }
  if (!metrics.empty()) return metrics;
  DET_ASSIGN_OR_RETURN(const std::string group,
                       ResolveGroup(request.group(), request.metric_type()));
  metrics[group].assign(request.metric_names().begin(), request.metric_names().end());
  return metrics;
}

}  // namespace

absl::StatusOr<v1::MetricBatchesResponse> ListBatches(store::Store& store,
                                                      const v1::MetricBatchesRequest& request) {
  DET_ASSIGN_OR_RETURN(const std::string group, ResolveGroup(request));
  DET_ASSIGN_OR_RETURN(
      const std::vector<int64_t> batches,
      store.runs().ListSteps({.experiment = model::ExperimentId(request.experiment_id()),
                              .group = group,
                              .metric = request.metric_name()}));
  v1::MetricBatchesResponse response;
  for (const int64_t steps : batches) response.add_batches(static_cast<int32_t>(steps));
  return response;
}

absl::StatusOr<v1::TrialsSnapshotResponse> ReadSnapshot(store::Store& store,
                                                        const v1::TrialsSnapshotRequest& request) {
  DET_ASSIGN_OR_RETURN(const std::string group, ResolveGroup(request));
  DET_ASSIGN_OR_RETURN(const store::TrialPage page,
                       ListTrialsOfExperiment(store, request.experiment_id()));
  DET_ASSIGN_OR_RETURN(
      const std::vector<store::SeriesPoint> points,
      store.runs().ReadLast(
          {.experiment = model::ExperimentId(request.experiment_id()),
           .group = group,
           .metric = request.metric_name(),
           .first_steps = int64_t{request.batches_processed()} - request.batches_margin(),
           .last_steps = request.batches_processed()}));
  std::map<model::TrialId, const store::SeriesPoint*> by_trial;
  for (const store::SeriesPoint& point : points) by_trial[point.trial] = &point;
  v1::TrialsSnapshotResponse response;
  for (const store::TrialRecord& record : page.trials) {
    const auto point = by_trial.find(record.trial.id);
    if (point == by_trial.end()) continue;
    auto& trial = *response.add_trials();
    trial.set_trial_id(record.trial.id.value());
    *trial.mutable_hparams() = ToStruct(record.trial.hparams);
    trial.set_metric(point->second->value);
    trial.set_batches_processed(static_cast<int32_t>(point->second->steps));
  }
  return response;
}

absl::StatusOr<v1::TrialsSampleResponse> ReadSample(store::Store& store,
                                                    const v1::TrialsSampleRequest& request) {
  DET_ASSIGN_OR_RETURN(const std::string group, ResolveGroup(request));
  const model::ExperimentId id(request.experiment_id());
  DET_ASSIGN_OR_RETURN(const store::ExperimentRecord experiment, store.GetExperiment(id));
  store::TrialQuery query;
  query.experiment = id;
  query.sort = store::TrialQuery::Sort::kBestMetric;
  query.descending = !experiment.experiment.config->searcher.smaller_is_better;
  query.bare = true;
  query.window.limit =
      std::min(request.max_trials() > 0 ? request.max_trials() : kDefaultTrials, kMaxTrials);
  DET_ASSIGN_OR_RETURN(const store::TrialPage page, store.ListTrials(query));
  const Names names = {request.metric_name()};
  const store::CurveQuery curve_query = MakeCurveQuery(page, group, names, request);
  store::Curves curves;
  store::NumberCurves columns;
  if (request.as_columns()) {
    DET_ASSIGN_OR_RETURN(columns, store.runs().ReadNumbers(curve_query));
  } else {
    DET_ASSIGN_OR_RETURN(curves, store.runs().ReadCurves(curve_query));
  }
  v1::TrialsSampleResponse response;
  for (const store::TrialRecord& record : page.trials) {
    auto& trial = *response.add_trials();
    trial.set_trial_id(record.trial.id.value());
    *trial.mutable_hparams() = ToStruct(record.trial.hparams);
    if (const auto curve = columns.find(record.trial.id); curve != columns.end()) {
      AddColumns(curve->second, request.max_datapoints(), trial.mutable_columns());
    }
    for (const model::MetricReport* report :
         SelectReports(curves[record.trial.id], names, request.start_batches(),
                       request.end_batches(), request.max_datapoints())) {
      *trial.add_data() = ToPoint(*report, names);
    }
    response.add_promoted_trials(record.trial.id.value());
  }
  return response;
}

absl::Status Compare(store::Store& store, const v1::CompareTrialsRequest& request, absl::Time now,
                     v1::CompareTrialsResponse* response) {
  if (request.trial_ids_size() > kMaxTrials) {
    return absl::InvalidArgumentError(absl::StrCat("trial_ids: ", request.trial_ids_size(),
                                                   " trials; the limit is ", kMaxTrials));
  }
  if (request.trial_ids().empty()) return absl::OkStatus();
  DET_ASSIGN_OR_RETURN(const auto requested, ParseMetrics(request));
  store::TrialQuery query;
  for (const int32_t id : request.trial_ids()) query.ids.emplace_back(id);
  DET_ASSIGN_OR_RETURN(const store::TrialPage page, store.ListTrials(query));
  for (const store::TrialRecord& record : page.trials) {
    *response->add_trials()->mutable_trial() = ToProto(record, LiveTrials(), {}, now);
  }
  for (const auto& [group, names] : requested) {
    DET_ASSIGN_OR_RETURN(store::Curves curves,
                         store.runs().ReadCurves(MakeCurveQuery(page, group, names, request)));
    for (int i = 0; i < response->trials_size(); ++i) {
      v1::DownsampledMetrics& metrics = *response->mutable_trials(i)->add_metrics();
      metrics.set_group(group);
      metrics.set_type(GetMetricType(group));
      for (const model::MetricReport* report : SelectReports(
               curves[page.trials[static_cast<size_t>(i)].trial.id], names, request.start_batches(),
               request.end_batches(), request.max_datapoints())) {
        *metrics.add_data() = ToPoint(*report, names);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace det::api
