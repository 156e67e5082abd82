#include "master/api/search/convert_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "master/api/common/convert.h"
#include "master/core/searcher/pareto.h"
#include "master/core/searcher/preview.h"
#include "master/core/searcher/recorded_curves.h"
#include "master/core/searcher/simulate.h"
#include "master/store/interfaces/canonical.h"

namespace det::api {
namespace {

int32_t ClampToInt32(int64_t number) {
  return static_cast<int32_t>(std::min<int64_t>(number, std::numeric_limits<int32_t>::max()));
}

v1::TrialSummary PlannedToProto(const searcher::PlannedTrials& row, const std::string& unit) {
  v1::TrialSummary out;
  out.set_count(ClampToInt32(row.trials));
  out.mutable_unit()->set_name(unit);
  out.mutable_unit()->set_value(ClampToInt32(row.length));
  out.mutable_unit()->set_max_length(row.length == 0);
  return out;
}

// Returns the columns of the curves that contain the objectives, in the order of the objectives.
absl::StatusOr<std::vector<size_t>> FindObjectiveColumns(const model::ExperimentConfig& config,
                                                         const searcher::RecordedCurves& curves,
                                                         const std::string& path) {
  std::vector<size_t> columns;
  for (const model::Objective& objective : model::Objectives(config.searcher)) {
    const auto& names = curves.metrics();
    const auto it = std::find(names.begin(), names.end(), objective.metric);
    if (it == names.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":1: the curves do not contain the searcher metric ", objective.metric,
                       "; they contain: ", absl::StrJoin(names, ", ")));
    }
    columns.push_back(static_cast<size_t>(it - names.begin()));
  }
  return columns;
}

v1::SimulateSearchResponse SimulationToProto(const searcher::Simulation& simulation) {
  v1::SimulateSearchResponse out;
  for (const searcher::BestSoFar& best : simulation.best) {
    v1::SimulateSearchResponse::Best* out_best = out.add_best();
    out_best->set_units(static_cast<double>(best.units));
    out_best->set_metric(best.metric);
  }
  for (const searcher::SimulatedTrial& trial : simulation.trials) {
    v1::SimulateSearchResponse::Trial* out_trial = out.add_trials();
    out_trial->set_request_id(trial.request.value());
    *out_trial->mutable_hparams() = ToStruct(trial.hparams);
    out_trial->set_length(static_cast<double>(trial.length));
    if (!trial.metrics.empty() && std::isfinite(trial.metrics[0])) {
      out_trial->set_metric(trial.metrics[0]);
    }
    if (!simulation.best.empty() && simulation.best.back().request == trial.request) {
      *out.mutable_best_hparams() = out_trial->hparams();
    }
  }
  out.set_total_units(static_cast<double>(simulation.units));
  return out;
}

v1::Search::Arrival::Outcome OutcomeToProto(searcher::Outcome outcome, bool failed) {
  switch (outcome) {
    case searcher::Outcome::kWaiting:
      return v1::Search::Arrival::OUTCOME_WAITING;
    case searcher::Outcome::kContinued:
      return v1::Search::Arrival::OUTCOME_CONTINUED;
    case searcher::Outcome::kStopped:
      return failed ? v1::Search::Arrival::OUTCOME_FAILED : v1::Search::Arrival::OUTCOME_STOPPED;
    case searcher::Outcome::kDone:
      return failed ? v1::Search::Arrival::OUTCOME_FAILED : v1::Search::Arrival::OUTCOME_DONE;
  }
  return v1::Search::Arrival::OUTCOME_UNSPECIFIED;
}

}  // namespace

v1::SearchSummary ToSummary(const model::ExperimentConfig& config, const searcher::Plan& plan) {
  const std::string unit = model::LengthMetric(config.searcher);
  v1::SearchSummary out;
  const model::Value shown = model::ToShownValue(config);
  if (const model::Value* searcher = shown.Find("searcher")) {
    *out.mutable_config() = ToStruct(*searcher);
  }
  const searcher::PlanTotals totals = searcher::SumPlan(plan);
  for (const searcher::PlannedTrials& row : totals.rows)
    *out.add_trials() = PlannedToProto(row, unit);
  for (const std::vector<searcher::PlannedTrials>& bracket : plan) {
    v1::BracketSummary* summary = out.add_brackets();
    for (const searcher::PlannedTrials& row : bracket)
      *summary->add_trials() = PlannedToProto(row, unit);
  }
  out.set_total_trials(totals.trials);
  out.set_total_units(static_cast<int64_t>(std::min(totals.units, 9e18)));
  return out;
}

std::vector<v1::Search::Bracket> ToProto(const std::vector<searcher::Bracket>& brackets,
                                         bool smaller_is_better,
                                         const std::map<model::RequestId, SearchedTrial>& trials) {
  const double sign = smaller_is_better ? 1 : -1;
  std::vector<v1::Search::Bracket> all;
  for (const searcher::Bracket& bracket : brackets) {
    v1::Search::Bracket& out = all.emplace_back();
    for (const searcher::Rung& rung : bracket) {
      v1::Search::Rung* out_rung = out.add_rungs();
      out_rung->set_length(rung.length);
      out_rung->set_reported(rung.reported);
      out_rung->set_continued(rung.continued);
      if (rung.best_loss && std::isfinite(*rung.best_loss)) {
        out_rung->set_best(sign * *rung.best_loss);
      }
      for (const searcher::Arrival& arrival : rung.arrivals) {
        const auto trial = trials.find(arrival.request);
        if (trial == trials.end()) continue;
        v1::Search::Arrival* out_arrival = out_rung->add_arrivals();
        out_arrival->set_trial_id(trial->second.id.value());
        if (std::isfinite(arrival.loss)) out_arrival->set_metric(sign * arrival.loss);
        out_arrival->set_outcome(OutcomeToProto(arrival.outcome, trial->second.failed));
      }
    }
  }
  return all;
}

absl::StatusOr<searcher::OperationsPosted> FromProto(
    const v1::PostSearcherOperationsRequest& request) {
  searcher::OperationsPosted posted{
      .id = request.id(), .events_read = request.events_read(), .operations = {}};
  for (const v1::SearcherOperation& given : request.operations()) {
    using Kind = v1::SearcherOperation;
    switch (given.operation_case()) {
      case Kind::kCreateTrial: {
        const Kind::CreateTrial& create = given.create_trial();
        searcher::CreateTrial trial;
        trial.request = model::RequestId(create.request_id());
        trial.seed = create.seed();
        const model::Value hparams = FromStruct(create.hparams(), Numbers::kIntegersIfWhole);
        trial.hparams = *hparams.AsObject();
        if (!create.parent().empty()) trial.parent = model::RequestId(create.parent());
        posted.operations.emplace_back(std::move(trial));
        break;
      }
      case Kind::kStopTrial:
        posted.operations.emplace_back(
            searcher::StopTrial{model::RequestId(given.stop_trial().request_id())});
        break;
      case Kind::kPauseTrial:
        posted.operations.emplace_back(
            searcher::PauseTrial{model::RequestId(given.pause_trial().request_id())});
        break;
      case Kind::kResumeTrial:
        posted.operations.emplace_back(
            searcher::ResumeTrial{model::RequestId(given.resume_trial().request_id())});
        break;
      case Kind::kShutdown:
        posted.operations.emplace_back(
            searcher::Shutdown{given.shutdown().failed(), given.shutdown().canceled()});
        break;
      case Kind::OPERATION_NOT_SET:
        return absl::InvalidArgumentError(
            absl::StrCat("operations[", posted.operations.size(),
                         "]: expected one of createTrial, stopTrial, pauseTrial, resumeTrial, "
                         "shutdown; none is set"));
    }
  }
  return posted;
}

std::vector<v1::Search::FrontPoint> ComputeFront(
    const model::ExperimentConfig& config, const std::vector<model::MetricReport>& validations,
    const std::map<model::TrialId, model::Hparams>& hparams) {
  const std::vector<model::Objective> objectives = model::Objectives(config.searcher);
  std::vector<std::vector<double>> losses;
  std::vector<v1::Search::FrontPoint> points;
  for (const model::MetricReport& report : validations) {
    v1::Search::FrontPoint point;
    std::vector<double> loss;
    for (const model::Objective& objective : objectives) {
      const auto metric = store::GetMetricNumber(report.metrics, objective.metric);
      if (!metric || !std::isfinite(*metric)) break;
      point.add_metrics(*metric);
      loss.push_back(objective.smaller_is_better ? *metric : -*metric);
    }
    if (loss.size() < objectives.size()) continue;
    point.set_trial_id(report.trial.value());
    point.set_steps_completed(ClampToInt32(report.steps_completed));
    const auto it = hparams.find(report.trial);
    if (it != hparams.end()) *point.mutable_hparams() = ToStruct(it->second);
    losses.push_back(std::move(loss));
    points.push_back(std::move(point));
  }
  std::vector<v1::Search::FrontPoint> front;
  for (const size_t index : searcher::Front(losses)) front.push_back(std::move(points[index]));
  return front;
}

absl::StatusOr<v1::SimulateSearchResponse> SimulateWithCurves(const model::ExperimentConfig& config,
                                                              const std::string& curves,
                                                              const std::string& path,
                                                              std::function<bool()> keep_going) {
  DET_ASSIGN_OR_RETURN(const searcher::RecordedCurves recorded,
                       searcher::RecordedCurves::Parse(curves, path.empty() ? "objective" : path));
  DET_ASSIGN_OR_RETURN(const std::vector<size_t> columns,
                       FindObjectiveColumns(config, recorded, path));
  const auto curve = [&](const model::Hparams& point, int64_t length) {
    const std::vector<double>& metrics = recorded.At(point, static_cast<double>(length));
    std::vector<double> objectives;
    for (const size_t column : columns) objectives.push_back(metrics[column]);
    return objectives;
  };
  DET_ASSIGN_OR_RETURN(const searcher::Simulation simulation,
                       searcher::Simulate(config, curve, {.keep_going = std::move(keep_going)}));
  return SimulationToProto(simulation);
}

}  // namespace det::api
