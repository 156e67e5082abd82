// Curves of trials, downsampled to few points (migration 016), and other queries of one metric in
// all trials of an experiment.
#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/rows.h"
#include "master/store/postgres/sql_runs.h"

namespace det::store {
namespace {

using Reports = std::vector<model::MetricReport>;
using Trials = std::vector<model::TrialId>;

// Up to this number, the reports of a trial are read without looking at its summary.
constexpr int kFewReports = 1024;
// The maximum number of trials whose curves one query reads.
constexpr size_t kMaxTrialsPerQuery = 25;

constexpr char kSteps[] = R"sql(
SELECT DISTINCT d.steps FROM (
  SELECT DISTINCT ON (m.trial, m.steps) m.steps, m.metrics -> $3 AS value
  FROM trials t JOIN metrics m ON m.trial = t.id AND m.group_name = $2
    AND m.steps BETWEEN $4 AND $5
  WHERE t.experiment = $1 ORDER BY m.trial, m.steps, m.run_id DESC) d
WHERE d.value IS NOT NULL ORDER BY d.steps)sql";
// Numbers that JSON does not support are strings. Reads backward from the last report, as far as
// necessary.
constexpr char kLast[] = R"sql(
SELECT t.id, l.steps, l.value FROM trials t CROSS JOIN LATERAL (
  SELECT v.steps, v.value FROM (
    SELECT n.steps, CASE WHEN json_typeof(n.value) = 'number'
        OR n.value #>> '{}' IN ('NaN', 'Infinity', '-Infinity')
      THEN (n.value #>> '{}')::double precision END AS value
    FROM (SELECT DISTINCT ON (m.steps) m.steps, m.metrics -> $3 AS value FROM metrics m
      WHERE m.trial = t.id AND m.group_name = $2 AND m.steps BETWEEN $4 AND $5
      ORDER BY m.steps DESC, m.run_id DESC) n) v
  WHERE v.value IS NOT NULL ORDER BY v.steps DESC LIMIT 1) l
WHERE t.experiment = $1 ORDER BY t.id)sql";

Params MakeQueryParams(const SeriesQuery& query) {
  return MakeParams(query.experiment, query.group, query.metric, query.first_steps,
                    query.last_steps);
}

model::TrialId TrialAt(const Result& result, int row) {
  return model::TrialId(static_cast<int32_t>(result.Int(row, 0)));
}

// Returns the next portion of the trials.
Trials Portion(const Trials& trials, size_t first) {
  const auto begin = trials.begin() + static_cast<int64_t>(first);
  return Trials(begin,
                begin + static_cast<int64_t>(std::min(kMaxTrialsPerQuery, trials.size() - first)));
}

// The first reports of each trial as m, at most `most` of all attempts. Reads them in the order of
// the index and leaves sorting to the caller: the planner may sort all reports of a trial for a
// query that sorts itself.
std::string FirstReports(const char* columns, int most) {
  return absl::StrCat("SELECT ", columns,
                      " FROM unnest($1::int[]) t (id) CROSS JOIN LATERAL (SELECT * FROM metrics n "
                      "WHERE n.trial = t.id AND n.group_name = $2 AND n.steps BETWEEN $3 AND $4 "
                      "ORDER BY n.steps, n.run_id LIMIT ",
                      most, ") m");
}

Params MakeQueryParams(const CurveQuery& query, const Trials& trials) {
  return {ToArray(trials), ToParam(query.group), ToParam(query.first_steps),
          ToParam(query.last_steps)};
}

absl::StatusOr<Curves> ReadFirst(Connection& connection, const CurveQuery& query,
                                 const Trials& trials, int most) {
  DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(FirstReports(kMetricColumns, most),
                                                            MakeQueryParams(query, trials)));
  Curves curves;
  for (int row = 0; row < result.rows(); ++row) {
    DET_ASSIGN_OR_RETURN(model::MetricReport report, ToMetricReport(result, row));
    curves[report.trial].push_back(std::move(report));
  }
  return curves;
}

// Parses a JSON number, or the string of a number that JSON does not support, like
// GetMetricNumber(); otherwise returns NaN.
double ParseNumber(std::string_view json) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (json == "\"Infinity\"") return kInfinity;
  if (json == "\"-Infinity\"") return -kInfinity;
  double number = std::numeric_limits<double>::quiet_NaN();
  // Also accepts "nan" and "inf", which cannot occur in JSON.
  std::from_chars(json.data(), json.data() + json.size(), number);
  return number;
}

// Like ReadFirst, for one metric. Adds trials with `most` reports to `cut`.
absl::StatusOr<NumberCurves> ReadFirstNumbers(Connection& connection, const CurveQuery& query,
                                              const Trials& trials, int most, Trials* cut) {
  Params params = MakeQueryParams(query, trials);
  params.push_back(ToParam(query.metric));
  DET_ASSIGN_OR_RETURN(
      const Result result,
      connection.Exec(FirstReports("m.trial, m.steps, m.metrics -> $5::text", most), params));
  NumberCurves curves;
  int first = 0;  // row of the trial
  for (int row = 0; row < result.rows(); ++row) {
    const model::TrialId trial = TrialAt(result, row);
    if (trial != TrialAt(result, first)) first = row;
    if (row - first + 1 == most) cut->push_back(trial);
    const int64_t steps = result.Int(row, 1);
    // The report of the newest attempt is the last one of a step.
    const bool replaced = row + 1 < result.rows() && TrialAt(result, row + 1) == trial &&
                          result.Int(row + 1, 1) == steps;
    if (replaced || result.IsNull(row, 2)) continue;
    NumberCurve& curve = curves[trial];
    curve.steps.push_back(steps);
    curve.values.push_back(ParseNumber(result.Text(row, 2)));
  }
  return curves;
}

// Keeps the report of the newest attempt for each step.
void KeepNewestRuns(Reports& reports) {
  const auto place = [](const model::MetricReport& report) {
    return std::tie(report.steps_completed, report.run_id);
  };
  std::sort(reports.begin(), reports.end(),
            [&](const auto& a, const auto& b) { return place(a) < place(b); });
  const auto older = [](const auto& a, const auto& b) {
    return a.steps_completed == b.steps_completed;
  };
  // Searches from the end, so that the last of equal reports stays.
  reports.erase(reports.begin(), std::unique(reports.rbegin(), reports.rend(), older).base());
}

struct Peaks {
  std::string metric;  // empty: the group has no summary
  bool made = false;
  bool many = false;  // there are certainly more reports than are read unsampled
};
using PeaksByTrial = std::map<model::TrialId, Peaks>;

absl::StatusOr<PeaksByTrial> FindPeaks(Connection& connection, const CurveQuery& query,
                                       const Trials& trials) {
  DET_ASSIGN_OR_RETURN(
      const Result found,
      connection.Exec(absl::StrCat("SELECT DISTINCT ON (s.trial) s.trial, s.metric, s.portion > 0, "
                                   "s.count > ",
                                   2 * kMaxUnsampledReports,
                                   " FROM metric_summaries s WHERE s.trial = ANY($1::int[]) "
                                   "AND s.group_name = $2 AND ($3 = '' OR s.metric = $3) "
                                   "ORDER BY s.trial, s.count DESC, s.metric"),
                      {ToArray(trials), ToParam(query.group), ToParam(query.metric)}));
  PeaksByTrial peaks;
  for (int row = 0; row < found.rows(); ++row) {
    peaks[TrialAt(found, row)] = {.metric = std::string(found.Text(row, 1)),
                                  .made = found.Bool(row, 2),
                                  .many = found.Bool(row, 3)};
  }
  return peaks;
}

// Reads a single trial: for several trials, the server may look up the steps once per report.
absl::StatusOr<Reports> ReadPeaks(Connection& connection, const CurveQuery& query,
                                  const model::TrialId& trial, const std::string& metric) {
  DET_ASSIGN_OR_RETURN(
      const Result result,
      connection.Exec(
          absl::StrCat("SELECT ", kMetricColumns,
                       " FROM metrics m WHERE m.trial = $1 AND m.group_name = $2 AND "
                       "m.steps = ANY(ARRAY(SELECT curve_steps($1, $2, $3, $4, $5, $6)))"),
          MakeParams(trial, query.group, metric, query.first_steps, query.last_steps,
                     std::max(1, query.max_reports / 2 - 1))));
  Reports reports;
  for (int row = 0; row < result.rows(); ++row) {
    DET_ASSIGN_OR_RETURN(reports.emplace_back(), ToMetricReport(result, row));
  }
  return reports;
}

// Whether a trial has more rows than were to be read.
bool IsCut(const Reports& reports, int most) { return reports.size() > static_cast<size_t>(most); }

absl::StatusOr<Reports> ReadLongCurve(Pool& pool, Fence& fence, const CurveQuery& query,
                                      const model::TrialId& trial, const Peaks& peaks) {
  const auto read_peaks = [&](Connection& connection) {
    return ReadPeaks(connection, query, trial, peaks.metric);
  };
  const bool asks_all = query.first_steps <= 0 && query.last_steps == CurveQuery().last_steps;
  if (asks_all && peaks.made && peaks.many) return pool.Run(read_peaks);
  DET_ASSIGN_OR_RETURN(Curves whole, pool.Run([&](Connection& connection) {
    return ReadFirst(connection, query, {trial}, kMaxUnsampledReports + 1);
  }));
  // Without numbers there are no peaks, so the first reports are returned.
  if (!IsCut(whole[trial], kMaxUnsampledReports) || peaks.metric.empty())
    return std::move(whole[trial]);
  if (!peaks.made) {
    // Needed once, for a trial that reported before peaks existed.
    DET_RETURN_IF_ERROR(fence
                            .Run(pool,
                                 [&](Connection& connection) {
                                   return connection.Exec(
                                       "SELECT make_peaks($1, $2, $3)",
                                       MakeParams(trial, query.group, peaks.metric));
                                 })
                            .status());
  }
  return pool.Run(read_peaks);
}

}  // namespace

absl::Status SqlRuns::ReadLongCurves(const CurveQuery& query, const Trials& trials,
                                     Curves* curves) {
  DET_ASSIGN_OR_RETURN(const PeaksByTrial found, pool_.Run([&](Connection& connection) {
    return FindPeaks(connection, query, trials);
  }));
  for (const model::TrialId& trial : trials) {
    const auto at = found.find(trial);
    DET_ASSIGN_OR_RETURN((*curves)[trial], ReadLongCurve(pool_, fence_, query, trial,
                                                         at == found.end() ? Peaks() : at->second));
  }
  return absl::OkStatus();
}

absl::StatusOr<Curves> SqlRuns::ReadCurves(const CurveQuery& query) {
  Curves curves;
  for (size_t first = 0; first < query.trials.size(); first += kMaxTrialsPerQuery) {
    const Trials trials = Portion(query.trials, first);
    DET_ASSIGN_OR_RETURN(Curves some, pool_.Run([&](Connection& connection) {
      return ReadFirst(connection, query, trials, kFewReports + 1);
    }));
    Trials longer;
    for (const auto& [trial, reports] : some) {
      if (IsCut(reports, kFewReports)) longer.push_back(trial);
    }
    if (!longer.empty()) DET_RETURN_IF_ERROR(ReadLongCurves(query, longer, &some));
    for (auto& [trial, reports] : some) KeepNewestRuns(reports);
    curves.merge(some);
  }
  return curves;
}

absl::StatusOr<NumberCurves> SqlRuns::ReadNumbers(const CurveQuery& query) {
  NumberCurves curves;
  for (size_t first = 0; first < query.trials.size(); first += kMaxTrialsPerQuery) {
    const Trials trials = Portion(query.trials, first);
    Trials longer;
    DET_ASSIGN_OR_RETURN(NumberCurves some, pool_.Run([&](Connection& connection) {
      longer.clear();
      return ReadFirstNumbers(connection, query, trials, kFewReports + 1, &longer);
    }));
    Curves whole;
    if (!longer.empty()) DET_RETURN_IF_ERROR(ReadLongCurves(query, longer, &whole));
    for (auto& [trial, reports] : whole) {
      KeepNewestRuns(reports);
      some.erase(trial);
      NumberCurve curve = ExtractNumbers(reports, query.metric);
      if (!curve.steps.empty()) some.emplace(trial, std::move(curve));
    }
    curves.merge(some);
  }
  return curves;
}

absl::StatusOr<std::vector<int64_t>> SqlRuns::ListSteps(const SeriesQuery& query) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<std::vector<int64_t>> {
    DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(kSteps, MakeQueryParams(query)));
    std::vector<int64_t> steps;
    for (int row = 0; row < result.rows(); ++row) steps.push_back(result.Int(row, 0));
    return steps;
  });
}

absl::StatusOr<std::vector<SeriesPoint>> SqlRuns::ReadLast(const SeriesQuery& query) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<std::vector<SeriesPoint>> {
    DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(kLast, MakeQueryParams(query)));
    std::vector<SeriesPoint> points;
    for (int row = 0; row < result.rows(); ++row) {
      points.push_back({TrialAt(result, row), result.Int(row, 1), result.Double(row, 2)});
    }
    return points;
  });
}

}  // namespace det::store
