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

constexpr int kPoints = 1000;
constexpr int kTrials = 25;
constexpr int kMostTrials = 500;

absl::StatusOr<std::string> GroupOf(const std::string& group, v1::MetricType type) {
  if (!group.empty()) return group;
  if (type == v1::METRIC_TYPE_TRAINING) return std::string("training");
  if (type == v1::METRIC_TYPE_VALIDATION) return std::string("validation");
  return absl::InvalidArgumentError(
      "say of which group the metrics are: group, or metric_type TRAINING or VALIDATION");
}

template <class Request>
absl::StatusOr<std::string> GroupOf(const Request& request) {
  if (request.metric_name().empty()) {
    return absl::InvalidArgumentError("say of which metric: metric_name");
  }
  return GroupOf(request.group(), request.metric_type());
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
    const bool asked = names.empty() || std::count(names.begin(), names.end(), name) > 0;
    if (asked) values[name] = ToProtoValue(value);
  }
  return point;
}

size_t MostOf(int max_datapoints) {
  return static_cast<size_t>(max_datapoints > 0 ? max_datapoints : kPoints);
}

void AddColumns(const store::NumberCurve& curve, int most, v1::CurveColumns* out) {
  for (const size_t i : Thin(curve.values, MostOf(most))) {
    out->add_batches(static_cast<int32_t>(curve.steps[i]));
    out->add_values(curve.values[i]);
  }
}

// What has one of the metrics (empty: any), thinned out by the first of them.
std::vector<const model::MetricReport*> Choose(const Reports& reports, const Names& names,
                                               int begin, int end, int most) {
  std::vector<const model::MetricReport*> asked;
  std::vector<double> heights;
  for (const model::MetricReport& report : reports) {
    const model::Value::Object* metrics = report.metrics.AsObject();
    if (metrics == nullptr || metrics->empty()) continue;
    if (!IsWithin(report.steps_completed, begin, end)) continue;
    const std::string& first = names.empty() ? metrics->begin()->first : names.front();
    const bool has = names.empty() || std::any_of(names.begin(), names.end(), [&](const auto& n) {
                       return metrics->contains(n);
                     });
    if (!has) continue;
    asked.push_back(&report);
    heights.push_back(store::MetricNumber(report.metrics, first).value_or(0));
  }
  std::vector<const model::MetricReport*> curve;
  for (const size_t i : Thin(heights, MostOf(most))) {
    curve.push_back(asked[i]);
  }
  return curve;
}

// Of the points no more than will be shown, where there are very many.
template <class Request>
store::CurveQuery QueryOf(const store::TrialPage& page, const std::string& group,
                          const Names& names, const Request& request) {
  store::CurveQuery query{.group = group};
  for (const store::TrialRecord& record : page.trials) query.trials.push_back(record.trial.id);
  if (!names.empty()) query.metric = names.front();
  query.first_steps = request.start_batches();
  if (request.end_batches() > 0) query.last_steps = request.end_batches();
  query.most = request.max_datapoints() > 0 ? request.max_datapoints() : kPoints;
  return query;
}

absl::StatusOr<store::TrialPage> TrialsOf(store::Store& store, int experiment) {
  const model::ExperimentId id(experiment);
  return store.ListTrials(store::BareTrialsOf(id));
}

v1::MetricType TypeOf(const std::string& group) {
  if (group == "training") return v1::METRIC_TYPE_TRAINING;
  if (group == "validation") return v1::METRIC_TYPE_VALIDATION;
  return v1::METRIC_TYPE_UNSPECIFIED;
}

absl::StatusOr<std::map<std::string, Names>> MetricsAsked(const v1::CompareTrialsRequest& request) {
  std::map<std::string, Names> asked;
  for (const std::string& id : request.metric_ids()) {
    const size_t dot = id.find('.');
    if (dot == std::string::npos || dot == 0 || dot + 1 == id.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("metric id \"", id, "\" is not as \"validation.loss\""));
    }
    asked[id.substr(0, dot)].push_back(id.substr(dot + 1));
  }
  if (!asked.empty()) return asked;
  DET_ASSIGN_OR_RETURN(const std::string group, GroupOf(request.group(), request.metric_type()));
  asked[group].assign(request.metric_names().begin(), request.metric_names().end());
  return asked;
}

}  // namespace

absl::StatusOr<v1::MetricBatchesResponse> ListBatches(store::Store& store,
                                                      const v1::MetricBatchesRequest& request) {
  DET_ASSIGN_OR_RETURN(const std::string group, GroupOf(request));
  DET_ASSIGN_OR_RETURN(
      const std::vector<int64_t> batches,
      store.runs().ListSteps({.experiment = model::ExperimentId(request.experiment_id()),
                              .group = group,
                              .metric = request.metric_name()}));
  v1::MetricBatchesResponse response;
  for (const int64_t each : batches) response.add_batches(static_cast<int32_t>(each));
  return response;
}

absl::StatusOr<v1::TrialsSnapshotResponse> ReadSnapshot(store::Store& store,
                                                        const v1::TrialsSnapshotRequest& request) {
  DET_ASSIGN_OR_RETURN(const std::string group, GroupOf(request));
  DET_ASSIGN_OR_RETURN(const store::TrialPage page, TrialsOf(store, request.experiment_id()));
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
  DET_ASSIGN_OR_RETURN(const std::string group, GroupOf(request));
  const model::ExperimentId id(request.experiment_id());
  DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record, store.GetExperiment(id));
  store::TrialQuery query;
  query.experiment = id;
  query.sort = store::TrialQuery::Sort::kBestMetric;
  query.descending = !record.experiment.config->searcher.smaller_is_better;
  query.bare = true;
  query.window.limit =
      std::min(request.max_trials() > 0 ? request.max_trials() : kTrials, kMostTrials);
  DET_ASSIGN_OR_RETURN(const store::TrialPage page, store.ListTrials(query));
  const Names names = {request.metric_name()};
  const store::CurveQuery curve_query = QueryOf(page, group, names, request);
  store::Curves curves;
  store::NumberCurves columns;
  if (request.as_columns()) {
    DET_ASSIGN_OR_RETURN(columns, store.runs().ReadNumbers(curve_query));
  } else {
    DET_ASSIGN_OR_RETURN(curves, store.runs().ReadCurves(curve_query));
  }
  v1::TrialsSampleResponse response;
  for (const store::TrialRecord& each : page.trials) {
    auto& trial = *response.add_trials();
    trial.set_trial_id(each.trial.id.value());
    *trial.mutable_hparams() = ToStruct(each.trial.hparams);
    if (const auto curve = columns.find(each.trial.id); curve != columns.end()) {
      AddColumns(curve->second, request.max_datapoints(), trial.mutable_columns());
    }
    for (const model::MetricReport* report :
         Choose(curves[each.trial.id], names, request.start_batches(), request.end_batches(),
                request.max_datapoints())) {
      *trial.add_data() = ToPoint(*report, names);
    }
    response.add_promoted_trials(each.trial.id.value());
  }
  return response;
}

absl::Status Compare(store::Store& store, const v1::CompareTrialsRequest& request, absl::Time now,
                     v1::CompareTrialsResponse* response) {
  if (request.trial_ids_size() > kMostTrials) {
    return absl::InvalidArgumentError(absl::StrCat(
        "at most ", kMostTrials, " trials can be compared, not ", request.trial_ids_size()));
  }
  if (request.trial_ids().empty()) return absl::OkStatus();
  DET_ASSIGN_OR_RETURN(const auto asked, MetricsAsked(request));
  store::TrialQuery query;
  for (const int32_t id : request.trial_ids()) query.ids.emplace_back(id);
  DET_ASSIGN_OR_RETURN(const store::TrialPage page, store.ListTrials(query));
  for (const store::TrialRecord& record : page.trials) {
    *response->add_trials()->mutable_trial() = ToProto(record, LiveTrials(), {}, now);
  }
  for (const auto& [group, names] : asked) {
    DET_ASSIGN_OR_RETURN(store::Curves curves,
                         store.runs().ReadCurves(QueryOf(page, group, names, request)));
    for (int i = 0; i < response->trials_size(); ++i) {
      v1::DownsampledMetrics& metrics = *response->mutable_trials(i)->add_metrics();
      metrics.set_group(group);
      metrics.set_type(TypeOf(group));
      for (const model::MetricReport* report :
           Choose(curves[page.trials[static_cast<size_t>(i)].trial.id], names,
                  request.start_batches(), request.end_batches(), request.max_datapoints())) {
        *metrics.add_data() = ToPoint(*report, names);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace det::api
