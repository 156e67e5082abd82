#include "master/api/trials/run_series.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
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
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

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

// Charts show numbers only: lists and objects become text.
google::protobuf::Value ToPointValue(const model::Value* value) {
  if (value == nullptr) return ToProtoValue(model::Value());
  const bool is_nested = value->AsList() != nullptr || value->AsObject() != nullptr;
  return ToProtoValue(is_nested ? model::Value(value->ToJson()) : *value);
}

// The values of these metrics, null for those that the report lacks; of all if `names` is empty.
v1::DataPoint ToPoint(const model::MetricReport& report, const Names& names) {
  v1::DataPoint point;
  point.set_batches(static_cast<int32_t>(report.steps_completed));
  *point.mutable_time() = ToProto(report.time);
  for (const char* name : {"epoch", "epochs"}) {
    const model::Value* const epoch = report.metrics.Find(name);
    if (epoch != nullptr && epoch->AsNumber()) point.set_epoch(*epoch->AsNumber());
  }
  auto& values = *point.mutable_values()->mutable_fields();
  for (const std::string& name : names) values[name] = ToPointValue(report.metrics.Find(name));
  if (!names.empty() || report.metrics.AsObject() == nullptr) return point;
  for (const auto& [name, value] : *report.metrics.AsObject()) values[name] = ToPointValue(&value);
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

// Returns the matching reports, downsampled by the values of the first metric. Reports without it
// are left out first.
std::vector<const model::MetricReport*> SelectReports(
    const Reports& reports, const Names& names, int max_datapoints,
    const std::function<bool(const model::MetricReport&)>& matches) {
  std::vector<const model::MetricReport*> matching;
  std::vector<double> values;
  for (const model::MetricReport& report : reports) {
    const model::Value::Object* metrics = report.metrics.AsObject();
    if (metrics == nullptr || !matches(report)) continue;
    matching.push_back(&report);
    if (names.empty() && metrics->empty()) {
      values.push_back(kNan);
    } else {
      const std::string& first = names.empty() ? metrics->begin()->first : names.front();
      values.push_back(store::GetMetricNumber(report.metrics, first).value_or(kNan));
    }
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
  const bool has_group =
      !request.group().empty() || request.metric_type() != v1::METRIC_TYPE_UNSPECIFIED;
  const Names names(request.metric_names().begin(), request.metric_names().end());
  if (has_group) {
    DET_ASSIGN_OR_RETURN(const std::string group,
                         ResolveGroup(request.group(), request.metric_type()));
    metrics[group] = names;
  } else if (!names.empty()) {
    metrics["training"] = metrics["validation"] = names;
  }
  return metrics;
}

template <class Filter, class Value>
bool IsWithinBounds(const Filter& filter, const Value& value) {
  return (!filter.has_lt() || value < filter.lt()) &&
         (!filter.has_lte() || value <= filter.lte()) &&
         (!filter.has_gt() || value > filter.gt()) && (!filter.has_gte() || value >= filter.gte());
}

bool Contains(const google::protobuf::RepeatedField<int32_t>& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

using Matches = std::function<bool(const model::MetricReport&)>;

// Returns INVALID_ARGUMENT for an unknown column.
absl::StatusOr<Matches> ParseFilter(const v1::PolymorphicFilter& filter) {
  if (filter.name() == "batches") {
    return [range = filter.integer_range()](const model::MetricReport& report) {
      const int64_t batches = report.steps_completed;
      return IsWithinBounds(range, batches) && !Contains(range.not_in(), batches) &&
             (range.incl().empty() || Contains(range.incl(), batches));
    };
  }
  if (filter.name() == "epoch") {
    return [range = filter.double_range()](const model::MetricReport& report) {
      const auto epoch = store::GetMetricNumber(report.metrics, "epoch");
      const auto epochs = store::GetMetricNumber(report.metrics, "epochs");
      return (epoch || epochs) && IsWithinBounds(range, epochs ? *epochs : *epoch);
    };
  }
  if (filter.name() == "time") {
    const v1::TimestampFieldFilter& range = filter.time_range();
    return [lt = range.has_lt() ? FromProto(range.lt()) : absl::InfiniteFuture(),
            lte = range.has_lte() ? FromProto(range.lte()) : absl::InfiniteFuture(),
            gt = range.has_gt() ? FromProto(range.gt()) : absl::InfinitePast(),
            gte = range.has_gte() ? FromProto(range.gte())
                                  : absl::InfinitePast()](const model::MetricReport& report) {
      return report.time < lt && report.time <= lte && report.time > gt && report.time >= gte;
    };
  }
  if (filter.name().empty()) return [](const model::MetricReport&) { return true; };
  return absl::InvalidArgumentError(absl::StrCat("time_series_filter.name: \"", filter.name(),
                                                 "\" is not one of batches, epoch, time"));
}

// The best trials of an experiment, by its searcher's metric.
absl::StatusOr<store::TrialPage> ListBestTrials(store::Store& store, model::ExperimentId id,
                                                int max_trials) {
  DET_ASSIGN_OR_RETURN(const store::ExperimentRecord experiment, store.GetExperiment(id));
  store::TrialQuery query;
  query.experiment = id;
  query.sort = store::TrialQuery::Sort::kBestMetric;
  query.descending = !experiment.experiment.config->searcher.smaller_is_better;
  query.bare = true;
  query.window.limit = std::min(max_trials > 0 ? max_trials : kDefaultTrials, kMaxTrials);
  return store.ListTrials(query);
}

// The best trials and their points, each point once.
class SampleSeries {
 public:
  SampleSeries(store::Store& store, v1::TrialsSampleRequest request)
      : store_(store), request_(std::move(request)) {}

  absl::StatusOr<v1::TrialsSampleResponse> Read() {
    DET_ASSIGN_OR_RETURN(const std::string group, ResolveGroup(request_));
    DET_ASSIGN_OR_RETURN(const store::TrialPage page,
                         ListBestTrials(store_, model::ExperimentId(request_.experiment_id()),
                                        request_.max_trials()));
    const Names names = {request_.metric_name()};
    const store::CurveQuery query = MakeCurveQuery(page, group, names, request_);
    store::Curves curves;
    store::NumberCurves columns;
    if (request_.as_columns()) {
      DET_ASSIGN_OR_RETURN(columns, store_.runs().ReadNumbers(query));
    } else {
      DET_ASSIGN_OR_RETURN(curves, store_.runs().ReadCurves(query));
    }
    v1::TrialsSampleResponse response;
    std::set<model::TrialId> sampled;
    for (const store::TrialRecord& record : page.trials) {
      const model::TrialId id = record.trial.id;
      sampled.insert(id);
      auto& trial = *response.add_trials();
      trial.set_trial_id(id.value());
      if (!sent_.contains(id)) {
        response.add_promoted_trials(id.value());
        *trial.mutable_hparams() = ToStruct(record.trial.hparams);
        sent_[id] = std::numeric_limits<int64_t>::min();
      }
      if (request_.as_columns()) {
        AddColumns(columns[id], id, trial.mutable_columns());
      } else {
        AddPoints(curves[id], names, id, &trial);
      }
    }
    for (auto it = sent_.begin(); it != sent_.end();) {
      const bool stays = sampled.contains(it->first);
      if (!stays) response.add_demoted_trials(it->first.value());
      it = stays ? std::next(it) : sent_.erase(it);
    }
    return response;
  }

 private:
  void AddColumns(const store::NumberCurve& curve, model::TrialId id, v1::CurveColumns* out) {
    store::NumberCurve rest;
    for (size_t i = 0; i < curve.steps.size(); ++i) {
      if (curve.steps[i] <= sent_[id]) continue;
      rest.steps.push_back(curve.steps[i]);
      rest.values.push_back(curve.values[i]);
    }
    if (!rest.steps.empty()) sent_[id] = rest.steps.back();
    det::api::AddColumns(rest, request_.max_datapoints(), out);
  }

  void AddPoints(const Reports& curve, const Names& names, model::TrialId id,
                 v1::TrialsSampleResponse::Trial* out) {
    const int64_t sent = sent_[id];
    const auto selected = SelectReports(
        curve, names, request_.max_datapoints(), [&](const model::MetricReport& report) {
          return report.steps_completed > sent && report.metrics.Find(names.front()) != nullptr;
        });
    for (const model::MetricReport* report : selected) *out->add_data() = ToPoint(*report, names);
    if (!selected.empty()) sent_[id] = selected.back()->steps_completed;
  }

  store::Store& store_;
  const v1::TrialsSampleRequest request_;
  std::map<model::TrialId, int64_t> sent_;  // up to these steps, for the trials of the last message
};

// Adds the values that are not in `seen` yet, and remembers them.
template <class Value, class Out>
void AddNew(const Value& value, std::set<Value>* seen, Out out) {
  if (seen->insert(value).second) out(value);
}

}  // namespace

Series<v1::ExpMetricNamesResponse> MakeMetricNames(store::Store& store,
                                                   std::vector<model::ExperimentId> experiments) {
  struct Seen {
    std::set<std::string> searchers;
    std::set<store::MetricName> names;
  };
  return [&store, experiments = std::move(experiments),
          seen = Seen()]() mutable -> absl::StatusOr<v1::ExpMetricNamesResponse> {
    v1::ExpMetricNamesResponse response;
    store::ExperimentQuery by_id;
    by_id.ids = experiments;
    DET_ASSIGN_OR_RETURN(const store::ExperimentPage page, store.ListExperiments(by_id));
    for (const store::ExperimentRecord& record : page.experiments) {
      AddNew(record.experiment.config->searcher.metric, &seen.searchers,
             [&](const std::string& name) { response.add_searcher_metrics(name); });
    }
    DET_ASSIGN_OR_RETURN(const auto names, store.runs().ListMetricNames(experiments));
    for (const store::MetricName& name : names) {
      AddNew(name, &seen.names, [&](const store::MetricName& added) {
        if (added.first == "training") response.add_training_metrics(added.second);
        if (added.first == "validation") response.add_validation_metrics(added.second);
        v1::MetricIdentifier& metric = *response.add_metric_names();
        metric.set_group(added.first);
        metric.set_name(added.second);
      });
    }
    return response;
  };
}

Series<v1::MetricBatchesResponse> MakeBatches(store::Store& store,
                                              const v1::MetricBatchesRequest& request) {
  return [&store, request,
          seen = std::set<int64_t>()]() mutable -> absl::StatusOr<v1::MetricBatchesResponse> {
    DET_ASSIGN_OR_RETURN(const std::string group, ResolveGroup(request));
    DET_ASSIGN_OR_RETURN(
        const std::vector<int64_t> batches,
        store.runs().ListSteps({.experiment = model::ExperimentId(request.experiment_id()),
                                .group = group,
                                .metric = request.metric_name(),
                                .first_steps = std::numeric_limits<int64_t>::min()}));
    v1::MetricBatchesResponse response;
    for (const int64_t steps : batches) {
      AddNew(steps, &seen,
             [&](int64_t added) { response.add_batches(static_cast<int32_t>(added)); });
    }
    return response;
  };
}

Series<v1::TrialsSnapshotResponse> MakeSnapshot(store::Store& store,
                                                const v1::TrialsSnapshotRequest& request) {
  using Points = std::map<model::TrialId, store::SeriesPoint>;
  return
      [&store, request, sent = Points()]() mutable -> absl::StatusOr<v1::TrialsSnapshotResponse> {
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
                 .last_steps = int64_t{request.batches_processed()} + request.batches_margin()}));
        Points by_trial;
        for (const store::SeriesPoint& point : points) by_trial[point.trial] = point;
        v1::TrialsSnapshotResponse response;
        for (const store::TrialRecord& record : page.trials) {
          const auto point = by_trial.find(record.trial.id);
          if (point == by_trial.end()) continue;
          const auto known = sent.find(record.trial.id);
          if (known != sent.end() && known->second == point->second) continue;
          auto& trial = *response.add_trials();
          trial.set_trial_id(record.trial.id.value());
          *trial.mutable_hparams() = ToStruct(record.trial.hparams);
          trial.set_metric(point->second.value);
          trial.set_batches_processed(static_cast<int32_t>(point->second.steps));
        }
        sent = std::move(by_trial);
        return response;
      };
}

Series<v1::TrialsSampleResponse> MakeSample(store::Store& store,
                                            const v1::TrialsSampleRequest& request) {
  return [series = SampleSeries(store, request)]() mutable { return series.Read(); };
}

absl::Status Compare(store::Store& store, const v1::CompareTrialsRequest& request, absl::Time now,
                     v1::CompareTrialsResponse* response) {
  if (request.trial_ids_size() > kMaxTrials) {
    return absl::InvalidArgumentError(absl::StrCat("trial_ids: ", request.trial_ids_size(),
                                                   " trials; the limit is ", kMaxTrials));
  }
  if (request.trial_ids().empty()) return absl::NotFoundError("trial_ids: trial not found");
  DET_ASSIGN_OR_RETURN(const auto requested, ParseMetrics(request));
  DET_ASSIGN_OR_RETURN(const Matches matches, ParseFilter(request.time_series_filter()));
  store::TrialQuery query;
  query.bare = true;
  for (const int32_t id : request.trial_ids()) {
    query.ids.emplace_back(id);
    DET_RETURN_IF_ERROR(store.GetBareTrial(query.ids.back()).status());
  }
  DET_ASSIGN_OR_RETURN(const store::TrialPage page, store.ListTrials(query));
  for (const store::TrialRecord& record : page.trials) {
    v1::Trial& trial = *response->add_trials()->mutable_trial();
    trial = WithSearcherMetric(ToProto(record, LiveTrials(), {}, now));
    trial.clear_summary_metrics();  // not read
  }
  for (const auto& [group, names] : requested) {
    DET_ASSIGN_OR_RETURN(store::Curves curves,
                         store.runs().ReadCurves(MakeCurveQuery(page, group, names, request)));
    for (int i = 0; i < response->trials_size(); ++i) {
      const auto selected =
          SelectReports(curves[page.trials[static_cast<size_t>(i)].trial.id], names,
                        request.max_datapoints(), [&](const model::MetricReport& report) {
                          return IsWithin(report.steps_completed, request.start_batches(),
                                          request.end_batches()) &&
                                 matches(report);
                        });
      if (selected.empty()) continue;
      v1::DownsampledMetrics& metrics = *response->mutable_trials(i)->add_metrics();
      metrics.set_group(group);
      metrics.set_type(GetMetricType(group));
      for (const model::MetricReport* report : selected)
        *metrics.add_data() = ToPoint(*report, names);
    }
  }
  return absl::OkStatus();
}

}  // namespace det::api
