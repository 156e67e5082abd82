// What readers of metrics ask with.
#ifndef MASTER_STORE_METRIC_QUERY_H_
#define MASTER_STORE_METRIC_QUERY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "master/model/ids.h"
#include "master/model/reports.h"

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

}  // namespace det::store

#endif  // MASTER_STORE_METRIC_QUERY_H_
