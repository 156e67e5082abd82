#include "master/core/experiment/detached.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace det::experiment {
namespace {

using model::ExperimentState;
using model::TrialState;

constexpr char kLost[] = "lost: no sign of life for 5 minutes";

bool IsBetter(double a, const std::optional<double>& b, bool smaller_is_better) {
  return !b || (smaller_is_better ? a < *b : a > *b);
}

// How far a trial is, compared with the others of its experiment; -1: it does not count.
int GetRank(TrialState state) {
  switch (state) {
    case TrialState::kPaused:
      return 0;
    case TrialState::kCanceled:
      return 1;
    case TrialState::kError:
      return 2;
    case TrialState::kCompleted:
      return 3;
    case TrialState::kRunning:
      return 4;
    default:
      return -1;
  }
}

}  // namespace

absl::Status StartAttempt(Trial& trial, bool resume) {
  if (trial.run_id > 0 && !resume) {
    return absl::FailedPreconditionError(
        absl::StrCat("trial ", trial.id.value(),
                     " has already been started; set `resume` to continue it in a new attempt"));
  }
  ++trial.run_id;
  trial.state = TrialState::kRunning;
  trial.reason.clear();
  trial.ended_at.reset();
  return absl::OkStatus();
}

absl::Status ReportState(Trial& trial, TrialState state, absl::Time now) {
  if (GetRank(state) < 0) {
    return absl::InvalidArgumentError(
        "state: expected PAUSED, RUNNING, COMPLETED, CANCELED or ERROR");
  }
  const bool ended = model::IsTerminal(state);
  if (state == trial.state && ended == trial.ended_at.has_value()) return absl::OkStatus();
  trial.state = state;
  trial.reason.clear();
  trial.ended_at = ended ? std::optional(now) : std::nullopt;
  return absl::OkStatus();
}

bool WasLost(const Trial& trial) {
  return trial.state == TrialState::kError && trial.reason == kLost;
}

bool ReviveLost(Trial& trial) {
  if (!WasLost(trial)) return false;
  trial.state = TrialState::kRunning;
  trial.reason.clear();
  trial.ended_at.reset();
  return true;
}

bool EndLost(Trial& trial, absl::Time last_activity) {
  if (trial.state != TrialState::kRunning) return false;
  trial.state = TrialState::kError;
  trial.reason = kLost;
  trial.ended_at = last_activity;
  return true;
}

bool FollowTrials(Experiment& experiment, const std::vector<TrialsInState>& trials) {
  static constexpr ExperimentState kStates[] = {
      ExperimentState::kPaused, ExperimentState::kCanceled, ExperimentState::kError,
      ExperimentState::kCompleted, ExperimentState::kActive};
  int rank = -1;
  std::optional<absl::Time> last_end;
  for (const TrialsInState& each : trials) {
    rank = std::max(rank, GetRank(each.state));
    if (each.last_end) last_end = std::max(last_end.value_or(*each.last_end), *each.last_end);
  }
  if (rank < 0) return false;
  const ExperimentState before = experiment.state;
  experiment.state = kStates[rank];
  experiment.ended_at = model::IsTerminal(experiment.state) ? last_end : std::nullopt;
  if (experiment.state == ExperimentState::kCompleted) experiment.progress = 1;
  return experiment.state != before;
}

bool RecordMetric(Experiment& experiment, Trial& trial, int64_t steps, double metric) {
  if (!std::isfinite(metric)) return false;
  const bool smaller = experiment.config->searcher.smaller_is_better;
  trial.latest_metric = metric;
  if (IsBetter(metric, trial.best_metric, smaller)) {
    trial.best_metric = metric;
    trial.best_steps = steps;
  }
  if (!IsBetter(metric, experiment.best_metric, smaller)) return false;
  experiment.best_metric = metric;
  experiment.best_trial = trial.id;
  return true;
}

absl::Status CheckSearcherMetric(const Experiment& experiment, const model::MetricReport& report) {
  const std::string& name = experiment.config->searcher.metric;
  const model::Value* value = report.metrics.Find(name);
  if (report.group != "validation" || value == nullptr || value->is_null()) return absl::OkStatus();
  // JSON has no NaN: it is sent as a string.
  const std::string* text = value->AsString();
  const bool special =
      text != nullptr && (*text == "NaN" || *text == "Infinity" || *text == "-Infinity");
  if (special || value->AsNumber()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("metric ", name,
                                                 ", which searcher.metric names, must be a number; "
                                                 "found ",
                                                 value->ToJson()));
}

}  // namespace det::experiment
