#include "master/store/postgres/metric_summaries.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "base/status_macros.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/postgres/rows.h"

namespace det::store {
namespace {

// The attempt and the steps of a report.
using Position = std::pair<int64_t, int64_t>;

absl::StatusOr<MetricSummary> ToSummary(const Result& result, int row) {
  MetricSummary summary;
  summary.type = std::string(result.Text(row, 5));
  summary.count = result.Int(row, 6);
  summary.sum = result.Double(row, 7);
  summary.min = result.Double(row, 8);
  summary.max = result.Double(row, 9);
  summary.last = result.Double(row, 10);
  summary.nans = result.Int(row, 11);
  summary.infinities = result.Int(row, 12);
  summary.negative_infinities = result.Int(row, 13);
  if (summary.count > 0) {
    summary.newest = model::Value(summary.last);
  } else {
    DET_ASSIGN_OR_RETURN(summary.newest, ToValue(result, row, 14));
  }
  return summary;
}

// Adds the other row of the same metric.
void Merge(const MetricSummary& other, bool is_newer, MetricSummary* summary) {
  if (other.count > 0) {
    std::tie(summary->count, summary->sum, summary->min, summary->max, summary->last) =
        std::tie(other.count, other.sum, other.min, other.max, other.last);
  }
  summary->type = MergeTypes(summary->type, other.type);
  summary->nans += other.nans;
  summary->infinities += other.infinities;
  summary->negative_infinities += other.negative_infinities;
  if (is_newer) summary->newest = other.newest;
}

}  // namespace

// Without the condition, the function is called even if there is nothing to summarize.
const char kReadSummaries[] = R"sql(
SELECT s.trial, s.group_name, s.metric, s.last_run, s.last_steps, 'number', s.count, s.sum, s.min,
  s.max, s.last, 0, 0, 0, NULL::json
FROM metric_summaries s WHERE s.trial = ANY($1::int[])
UNION ALL
SELECT s.trial, s.group_name, s.metric, s.last_run, s.last_steps, 'number', s.count, s.sum, s.min,
  s.max, s.last, 0, 0, 0, NULL
FROM summaries_of(ARRAY(SELECT trial FROM unsummarized WHERE trial = ANY($1::int[]))) s
WHERE EXISTS (SELECT FROM unsummarized WHERE trial = ANY($1::int[]))
UNION ALL
SELECT o.trial, o.group_name, o.metric, o.last_run, o.last_steps, o.type, 0, 0, 0, 0, 0, o.nans,
  o.infinities, o.negative_infinities, o.last
FROM other_values o WHERE o.trial = ANY($1::int[]))sql";

absl::StatusOr<std::map<model::TrialId, ReportSummary>> ToSummaries(const Result& result) {
  std::map<model::TrialId, ReportSummary> summaries;
  std::map<model::TrialId, Position> newest_of_trial;
  std::map<std::pair<model::TrialId, MetricName>, Position> positions;
  std::map<std::pair<model::TrialId, std::string>, Position> newest;  // by group
  for (int row = 0; row < result.rows(); ++row) {
    const model::TrialId trial(static_cast<int32_t>(result.Int(row, 0)));
    const MetricName name(result.Text(row, 1), result.Text(row, 2));
    const Position position(result.Int(row, 3), result.Int(row, 4));
    DET_ASSIGN_OR_RETURN(MetricSummary summary, ToSummary(result, row));
    const auto [known, is_first] = positions.emplace(std::pair(trial, name), position);
    if (is_first) {
      summaries[trial].metrics.emplace(name, std::move(summary));
    } else {
      Merge(summary, position > known->second, &summaries[trial].metrics.at(name));
      known->second = std::max(known->second, position);
    }
    Position& last = newest.emplace(std::pair(trial, name.first), position).first->second;
    last = std::max(last, position);
    Position& latest = newest_of_trial.emplace(trial, position).first->second;
    latest = std::max(latest, position);
    summaries[trial].steps = latest.second;
  }
  for (const auto& [metric, position] : positions) {
    const auto& [trial, name] = metric;
    if (position < newest.at({trial, name.first})) summaries[trial].metrics.at(name).newest = {};
  }
  return summaries;
}

}  // namespace det::store
