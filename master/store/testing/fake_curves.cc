// FakeRuns: reports of trials, step by step.
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/testing/fake_runs.h"

namespace det::store {

// Always returns all reports.
absl::StatusOr<Curves> FakeRuns::ReadCurves(const CurveQuery& query) {
  std::lock_guard lock(db_.mutex);
  Curves curves;
  for (const model::TrialId& trial : query.trials) {
    std::vector<model::MetricReport> curve = db_.ListMetrics(trial, query.group);
    std::erase_if(curve, [&](const model::MetricReport& report) {
      return report.steps_completed < query.first_steps ||
             report.steps_completed > query.last_steps;
    });
    if (!curve.empty()) curves.emplace(trial, std::move(curve));
  }
  return curves;
}

absl::StatusOr<NumberCurves> FakeRuns::ReadNumbers(const CurveQuery& query) {
  DET_ASSIGN_OR_RETURN(const Curves curves, ReadCurves(query));
  NumberCurves numbers;
  for (const auto& [trial, reports] : curves) {
    NumberCurve curve = ExtractNumbers(reports, query.metric);
    if (!curve.steps.empty()) numbers.emplace(trial, std::move(curve));
  }
  return numbers;
}

template <class Visit>
void FakeRuns::VisitSeries(const SeriesQuery& query, const Visit& visit) {
  for (const auto& [id, trial] : db_.trials) {
    if (trial.experiment != query.experiment) continue;
    for (const model::MetricReport& report : db_.ListMetrics(id, query.group)) {
      const int64_t steps = report.steps_completed;
      if (steps >= query.first_steps && steps <= query.last_steps) visit(report);
    }
  }
}

absl::StatusOr<std::vector<int64_t>> FakeRuns::ListSteps(const SeriesQuery& query) {
  std::lock_guard lock(db_.mutex);
  std::set<int64_t> steps;
  VisitSeries(query, [&](const model::MetricReport& report) {
    if (report.metrics.Find(query.metric) != nullptr) steps.insert(report.steps_completed);
  });
  return std::vector<int64_t>(steps.begin(), steps.end());
}

absl::StatusOr<std::vector<SeriesPoint>> FakeRuns::ReadLast(const SeriesQuery& query) {
  std::lock_guard lock(db_.mutex);
  std::vector<SeriesPoint> points;
  VisitSeries(query, [&](const model::MetricReport& report) {
    const auto number = GetMetricNumber(report.metrics, query.metric);
    if (!number) return;
    if (points.empty() || points.back().trial != report.trial) points.emplace_back();
    points.back() = {report.trial, report.steps_completed, *number};
  });
  return points;
}

}  // namespace det::store
