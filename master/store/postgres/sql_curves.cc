// Curves of trials, few points of very many (migration 016).
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/rows.h"
#include "master/store/postgres/sql_runs.h"

namespace det::store {
namespace {

using Reports = std::vector<model::MetricReport>;

// Of each step the newest run's report.
absl::StatusOr<Reports> ReadReports(Connection& connection, const std::string& which,
                                    const Params& params) {
  DET_ASSIGN_OR_RETURN(
      const Result result,
      connection.Exec(
          absl::StrCat("SELECT DISTINCT ON (m.steps) ", kMetricColumns,
                       " FROM metrics m WHERE m.trial = $1 AND m.group_name = $2 AND ", which),
          params));
  Reports reports;
  reports.reserve(result.rows());
  for (int row = 0; row < result.rows(); ++row) {
    DET_ASSIGN_OR_RETURN(reports.emplace_back(), ToMetricReport(result, row));
  }
  return reports;
}

// So many are read without a look at what is known of them.
constexpr int kFewReports = 1024;

struct First {
  Reports reports;
  bool are_all = false;
};

// The first reports, of no more than `most` of all runs. Read in the order of the index and sorted
// out here: a query that does so itself may be planned to sort all that the trial has reported.
absl::StatusOr<First> ReadFirst(Connection& connection, const CurveQuery& query, int most) {
  DET_ASSIGN_OR_RETURN(
      const Result result,
      connection.Exec(absl::StrCat("SELECT ", kMetricColumns,
                                   " FROM metrics m WHERE m.trial = $1 AND m.group_name = $2 AND "
                                   "m.steps BETWEEN $3 AND $4 ORDER BY m.steps, m.run_id LIMIT ",
                                   most + 1),
                      MakeParams(query.trial, query.group, query.first_steps, query.last_steps)));
  First first{.reports = {}, .are_all = result.rows() <= most};
  first.reports.reserve(result.rows());
  for (int row = 0; row < result.rows(); ++row) {
    DET_ASSIGN_OR_RETURN(model::MetricReport report, ToMetricReport(result, row));
    Reports& reports = first.reports;
    if (!reports.empty() && reports.back().steps_completed == report.steps_completed) {
      reports.back() = std::move(report);
    } else {
      reports.push_back(std::move(report));
    }
  }
  return first;
}

struct Peaks {
  std::string metric;  // empty: nothing is known of the group
  bool made = false;
  bool many = false;  // there are surely more reports of it than would be read as they are
};

absl::StatusOr<Peaks> FindPeaks(Connection& connection, const CurveQuery& query) {
  DET_ASSIGN_OR_RETURN(
      const Result found,
      connection.Exec(absl::StrCat("SELECT s.metric, s.portion > 0, s.count > ", 2 * kWholeCurve,
                                   " FROM metric_summaries s WHERE s.trial = $1 "
                                   "AND s.group_name = $2 AND ($3 = '' OR s.metric = $3) "
                                   "ORDER BY s.count DESC, s.metric LIMIT 1"),
                      MakeParams(query.trial, query.group, query.metric)));
  if (found.rows() == 0) return Peaks();
  return Peaks{
      .metric = std::string(found.Text(0, 0)), .made = found.Bool(0, 1), .many = found.Bool(0, 2)};
}

absl::StatusOr<Reports> ReadPeaks(Connection& connection, const CurveQuery& query,
                                  const std::string& metric) {
  return ReadReports(connection,
                     "m.steps = ANY(ARRAY(SELECT curve_steps($1, $2, $3, $4, $5, $6))) "
                     "ORDER BY m.steps, m.run_id DESC",
                     MakeParams(query.trial, query.group, metric, query.first_steps,
                                query.last_steps, std::max(1, query.most / 2 - 1)));
}

}  // namespace

absl::StatusOr<Reports> SqlRuns::ReadCurve(const CurveQuery& query) {
  DET_ASSIGN_OR_RETURN(First few,
                       pool_.Run([&](Connection& c) { return ReadFirst(c, query, kFewReports); }));
  if (few.are_all) return std::move(few.reports);
  DET_ASSIGN_OR_RETURN(const Peaks peaks,
                       pool_.Run([&](Connection& c) { return FindPeaks(c, query); }));
  const bool asks_all = query.first_steps <= 0 && query.last_steps == CurveQuery().last_steps;
  if (asks_all && peaks.made && peaks.many) {
    return pool_.Run([&](Connection& c) { return ReadPeaks(c, query, peaks.metric); });
  }
  DET_ASSIGN_OR_RETURN(First whole,
                       pool_.Run([&](Connection& c) { return ReadFirst(c, query, kWholeCurve); }));
  if (whole.are_all) return std::move(whole.reports);
  if (!peaks.made && !peaks.metric.empty()) {
    // Of a trial that reported before there were peaks: once.
    DET_RETURN_IF_ERROR(fence_
                            .Run(pool_,
                                 [&](Connection& c) {
                                   return c.Exec(
                                       "SELECT make_peaks($1, $2, $3)",
                                       MakeParams(query.trial, query.group, peaks.metric));
                                 })
                            .status());
  }
  // Without numbers no point stands out: the first of them.
  if (peaks.metric.empty()) return std::move(whole.reports);
  return pool_.Run([&](Connection& c) { return ReadPeaks(c, query, peaks.metric); });
}

}  // namespace det::store
