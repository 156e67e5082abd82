// What readers of metrics ask with.
#ifndef MASTER_STORE_INTERFACES_METRIC_QUERY_H_
#define MASTER_STORE_INTERFACES_METRIC_QUERY_H_

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "master/core/model/ids.h"
#include "master/core/model/reports.h"

namespace det::store {

// Metrics in portions. A portion begins after the last report of the one before, in its order.
struct MetricQuery {
  std::vector<model::TrialId> trials;
  std::string group;  // empty: all groups
  struct Place {
    model::TrialId trial;
    std::string group;
    int64_t steps = 0;
  };
  bool descending = false;     // from the last to the first
  std::optional<Place> after;  // in that order; without: all
  int limit = 0;               // 0: all
};
inline MetricQuery::Place PlaceOf(const model::MetricReport& report) {
  return {report.trial, report.group, report.steps_completed};
}

// As much of trials' curves as can be seen.
struct CurveQuery {
  std::vector<model::TrialId> trials;
  std::string group;
  std::string metric;  // whose peaks stay; empty: the one that was reported most
  int64_t first_steps = 0;
  int64_t last_steps = std::numeric_limits<int64_t>::max();
  int most = 1000;  // reports of each, where not all of them are read
};
// So many reports of one curve are read as they are.
inline constexpr int kWholeCurve = 16384;
using Curves = std::map<model::TrialId, std::vector<model::MetricReport>>;

// One metric of a curve, side by side; what is no number is NaN.
struct NumberCurve {
  std::vector<int64_t> steps;
  std::vector<double> values;
};
using NumberCurves = std::map<model::TrialId, NumberCurve>;

// A metric in all trials of an experiment, of each step the newest run's.
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

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_METRIC_QUERY_H_
