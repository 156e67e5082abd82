// Queries of metrics.
#ifndef MASTER_STORE_INTERFACES_METRIC_QUERY_H_
#define MASTER_STORE_INTERFACES_METRIC_QUERY_H_

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "master/core/model/ids.h"
#include "master/core/model/reports.h"
#include "master/core/model/value.h"

namespace det::store {

// Metrics in portions. A portion begins after the last report of the previous one.
struct MetricQuery {
  std::vector<model::TrialId> trials;
  std::string group;  // empty: all groups
  struct Position {
    model::TrialId trial;
    std::string group;
    int64_t steps = 0;
  };
  bool descending = false;        // newest steps first
  std::optional<Position> after;  // in that order; unset: from the beginning
  int limit = 0;                  // 0: all
};
inline MetricQuery::Position GetPosition(const model::MetricReport& report) {
  return {report.trial, report.group, report.steps_completed};
}

// Curves of trials, sampled to what a plot can show.
struct CurveQuery {
  std::vector<model::TrialId> trials;
  std::string group;
  std::string metric;  // the metric whose extrema are kept; empty: the one reported most often
  int64_t first_steps = 0;
  int64_t last_steps = std::numeric_limits<int64_t>::max();
  int max_reports = 1000;  // maximum number of reports per trial of a long curve
};
// Curves with at most this many reports are not sampled.
inline constexpr int kMaxUnsampledReports = 16384;
using Curves = std::map<model::TrialId, std::vector<model::MetricReport>>;

// One metric of a curve, as parallel arrays; values that are not numbers are NaN.
struct NumberCurve {
  std::vector<int64_t> steps;
  std::vector<double> values;
};
using NumberCurves = std::map<model::TrialId, NumberCurve>;

// One metric of all trials of an experiment; each step as the newest attempt reported it.
struct SeriesQuery {
  model::ExperimentId experiment;
  std::string group;
  std::string metric;
  int64_t first_steps = 0;
  int64_t last_steps = std::numeric_limits<int64_t>::max();
};
struct SeriesPoint {
  model::TrialId trial;
  int64_t steps = 0;
  double value = 0;
  friend bool operator==(const SeriesPoint&, const SeriesPoint&) = default;
};

// Metric group and name.
using MetricName = std::pair<std::string, std::string>;
// Summary of all values that a trial reported for a metric, in all its attempts. Values beyond
// 1e290, names of more than 200 bytes and reports of more than 1,000 values are not counted.
struct MetricSummary {
  // These summarize the finite numbers; `last` is from the last report of the newest attempt that
  // has one.
  int64_t count = 0;
  double sum = 0;
  double min = 0;
  double max = 0;
  double last = 0;
  // "number", "string", "boolean", "array", "object" or "null"; "string" if reports differ.
  std::string type = "number";
  // How many other numbers there are.
  int64_t nans = 0;
  int64_t infinities = 0;
  int64_t negative_infinities = 0;
  // The value in the newest report of the group; null if that lacks the metric. Values of more than
  // 1,000 bytes are left out.
  model::Value newest;
  friend bool operator==(const MetricSummary&, const MetricSummary&) = default;
};
using MetricSummaries = std::map<MetricName, MetricSummary>;

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_METRIC_QUERY_H_
